//! Medians, percentiles and quotients of what was measured.

/// Returns the value below which this part of the values lies, 0 to 1; not a number where there are none.
pub(super) fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = part.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// Returns the middle value.
pub(super) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Returns the median of the quotients of neighbours, which were measured one after the other: what the machine did meanwhile hits
/// both.
pub(super) fn quotient(over: &[f64], under: &[f64]) -> f64 {
    let quotients: Vec<f64> = over.iter().zip(under).map(|(over, under)| over / under).collect();
    median(&quotients)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_and_one_outlier_does_not_move_it() {
        assert_eq!(median(&[3.0, 1.0, 1000.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_quantile_lies_between_its_neighbours() {
        let values: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.99), 99.0);
        assert_eq!(quantile(&values, 0.0), 0.0);
        assert_eq!(quantile(&values, 1.0), 100.0);
        assert_eq!(quantile(&[1.0, 2.0], 0.25), 1.25);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
    }

    #[test]
    fn a_quotient_is_that_of_neighbours() {
        // The machine was slow in the second round, for both.
        assert_eq!(quotient(&[1.0, 90.0, 1.0], &[2.0, 180.0, 2.0]), 0.5);
    }
}
