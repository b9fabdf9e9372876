use cs_model::FailureClass;

/// How much a code or a status tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// It has one meaning.
    Surely(FailureClass),
    /// Providers use it for several things; the message may know better.
    Roughly(FailureClass),
    /// It is not known.
    Nothing,
}

/// What a status of HTTP tells.
pub(super) fn by_status(status: u16) -> Told {
    match status {
        401 | 403 => Told::Surely(FailureClass::Authentication),
        402 => Told::Surely(FailureClass::Credit),
        408 => Told::Surely(FailureClass::Infrastructure),
        413 => Told::Surely(FailureClass::ContextOverflow),
        429 => Told::Roughly(FailureClass::RateLimit),
        400 | 404 | 422 => Told::Roughly(FailureClass::InvalidRequest),
        500..=599 => Told::Surely(FailureClass::Overloaded),
        _ => Told::Nothing,
    }
}

/// What a code, a type or a name of an error tells, however it is spelt: `rate_limit`, `rateLimit`, `RATE-LIMIT`.
pub(super) fn by_code(code: &str) -> Told {
    let plain: String = code
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    let known = CODES.iter().find(|(_, codes)| codes.contains(&plain.as_str()));
    known.map_or(Told::Nothing, |(told, _)| *told)
}

const CODES: &[(Told, &[&str])] = &[
    (
        Told::Surely(FailureClass::Authentication),
        &[
            "authenticationfailed",
            "authenticationerror",
            "oauthorgnotallowed",
            "accountonhold",
            "verificationrequired",
            "cloudcredentialerror",
            "permissionerror",
            "providerautherror",
            "invalidapikey",
            "unauthorized",
            "unauthenticated",
        ],
    ),
    (
        Told::Surely(FailureClass::Credit),
        &[
            "billingerror",
            "insufficientquota",
            "insufficientcredits",
            "usagenotincluded",
            "billinghardlimitreached",
        ],
    ),
    (
        Told::Surely(FailureClass::ContextOverflow),
        &[
            "contextoverflowerror",
            "contextlengthexceeded",
            "contextwindowexceeded",
            "prompttoolong",
            "requesttoolarge",
        ],
    ),
    (
        Told::Surely(FailureClass::RateLimit),
        &["usagelimitreached", "usagelimitexceeded", "slowdown"],
    ),
    (
        Told::Roughly(FailureClass::RateLimit),
        &[
            "ratelimit",
            "ratelimiterror",
            "ratelimitexceeded",
            "ratelimited",
            "resourceexhausted",
        ],
    ),
    (
        Told::Surely(FailureClass::Overloaded),
        &[
            "overloaded",
            "overloadederror",
            "serveroverloaded",
            "serverisoverloaded",
            "servererror",
            "internalservererror",
            "unavailable",
            "serviceunavailable",
        ],
    ),
    (Told::Roughly(FailureClass::Overloaded), &["apierror"]),
    (
        Told::Surely(FailureClass::Infrastructure),
        &[
            "timeouterror",
            "deadlineexceeded",
            "httpconnectionfailed",
            "connectionfailed",
            "responsestreamdisconnected",
            "responsestreamconnectionfailed",
        ],
    ),
    (
        Told::Surely(FailureClass::InvalidRequest),
        &[
            "modelnotfound",
            "modelnotfounderror",
            "providermodelnotfounderror",
            "modelnotsupported",
        ],
    ),
    (
        Told::Roughly(FailureClass::InvalidRequest),
        &[
            "invalidrequest",
            "invalidrequesterror",
            "invalidargument",
            "badrequest",
            "notfound",
            "notfounderror",
        ],
    ),
    (
        Told::Surely(FailureClass::Agent),
        &["maxoutputtokens", "messageoutputlengtherror"],
    ),
];
