#!/usr/bin/env python3
"""A scripted model provider: real coding agents are driven against it without an account and without a network.

It listens on the loopback only, needs the standard library only, and speaks four protocols:

  Anthropic Messages       POST .../messages           (and .../messages/count_tokens)
  OpenAI Responses         POST .../responses
  OpenAI Chat Completions  POST .../chat/completions
  Google Gemini            POST .../models/M:generateContent (:streamGenerateContent, :countTokens)

    fake_model.py LOG        prints {"port": N} when it is ready; ends when its standard input does

Every path begins with /s/SCRIPT: the base URL of an agent says which script is played to it. Each script has one position, so
whoever wants to play it twice puts it twice, under two names.

  POST /_script/NAME         sets a script and begins it anew; the body is a list of steps
  LOG                        one JSON object a line for each request: script, step, model, status, how many of the script's texts
                             it holds (remembers), which of the texts that are looked for (reads), and how the answer ended (ok | reset | client_gone)

A step is what one request that offers tools is answered with. Requests without tools, such as for the title of a conversation,
are answered with "ok" and move nothing, unless the step that stands next fails. After the last step it is played again.

    "text": "..."                 an assistant text
    "reasoning": "..."            a reasoning part before it
    "shell": "cmd"                a call of whichever shell tool the request offers
    "tool": {"name": "ask", "arguments": {...}}
                                  a call of a tool of the server `panel`; where the agent hides it behind a search, that is made
                                  first, as a request more
    "reads": ["..."]              texts that are looked for in each request, such as answers of tools
    "usage": {"input": 1000, "cached": 0, "output": 50, "reasoning": 0}
    "fail": KIND                  an HTTP error in the provider's own words: auth, rate_limit, quota, overloaded, bad_model, context
    "retry_after": S              its retry-after header (in Google's protocol the delay that stands in the error)
    "delay": S                    wait before the status line
    "cut_after": N                break the connection (TCP reset) after N pieces of the text
    "until": "..."                play this step again and again until a request holds this text; then it is left out
    "times": N                    play this step N times before the next one
"""
import json
import re
import socket
import struct
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# ---------------------------------------------------------------- errors, in the providers' words

ANTHROPIC_ERRORS = {
    "auth": (401, "authentication_error", "invalid x-api-key"),
    "rate_limit": (429, "rate_limit_error",
                   "This request would exceed your organization's rate limit of 50,000 input tokens per minute."),
    "quota": (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. "
              "Please go to Plans & Billing to upgrade or purchase credits."),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "bad_model": (404, "not_found_error", "model: {model}"),
    "context": (400, "invalid_request_error", "prompt is too long: 210241 tokens > 200000 maximum"),
}
OPENAI_ERRORS = {
    "auth": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: dummy."),
    "rate_limit": (429, "tokens", "rate_limit_exceeded",
                   "Rate limit reached for {model} in organization org-fake on tokens per min (TPM): "
                   "Limit 30000, Used 29000, Requested 4000. Please try again in 2s."),
    "quota": (429, "insufficient_quota", "insufficient_quota",
              "You exceeded your current quota, please check your plan and billing details."),
    "overloaded": (503, "service_unavailable_error", "server_is_overloaded",
                   "Our servers are currently overloaded. Please try again later."),
    "bad_model": (400, "invalid_request_error", "model_not_found",
                  "The model `{model}` does not exist or you do not have access to it."),
    "context": (400, "invalid_request_error", "context_length_exceeded",
                "Your input exceeds the context window of this model. Please adjust your input and try again."),
}
GOOGLE_QUOTA = "You exceeded your current quota, please check your plan and billing details."
GOOGLE_ERRORS = {
    "auth": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "rate_limit": (429, "RESOURCE_EXHAUSTED", GOOGLE_QUOTA + " Please retry in {wait}s."),
    "quota": (429, "RESOURCE_EXHAUSTED", GOOGLE_QUOTA),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "bad_model": (404, "NOT_FOUND", "models/{model} is not found for API version v1beta, or is not supported for "
                  "generateContent."),
    "context": (400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed "
                "(1048576)."),
}


def google_error(kind, model, wait):
    """-> (status, body); Google says in the details what the error is about."""
    def detail(name, **fields):
        return {"@type": "type.googleapis.com/google.rpc." + name, **fields}

    def quota(period):
        return detail("QuotaFailure", violations=[{
            "quotaMetric": "generativelanguage.googleapis.com/generate_requests",
            "quotaId": "GenerateRequestsPer%sPerProjectPerModel" % period}])
    details = {
        "auth": [detail("ErrorInfo", reason="API_KEY_INVALID", domain="googleapis.com")],
        "rate_limit": [quota("Minute"), detail("RetryInfo", retryDelay="%ss" % wait)],
        "quota": [quota("Day")],
    }
    status, word, text = GOOGLE_ERRORS[kind]
    error = {"code": status, "message": text.format(model=model, wait=wait), "status": word,
             "details": details.get(kind, [])}
    return status, {"error": error}


def error_body(api, kind, model, wait):
    """-> (status, body) of a provider's error."""
    if api == "google":
        return google_error(kind, model, wait)
    if api == "messages":
        status, word, text = ANTHROPIC_ERRORS[kind]
        error = {"type": word, "message": text.format(model=model)}
        return status, {"type": "error", "error": error, "request_id": "req_fake"}
    status, word, code, text = OPENAI_ERRORS[kind]
    return status, {"error": {"message": text.format(model=model), "type": word, "param": None, "code": code}}


# ---------------------------------------------------------------- tools that a request offers

SHELLS = ("exec_command", "shell_command", "Bash", "bash", "shell", "run_shell_command")


def offered_tools(api, body):
    """-> {name: schema of its parameters}."""
    tools = {}
    for tool in body.get("tools") or []:
        if api == "chat":
            function = tool.get("function") or {}
            tools[function.get("name")] = function.get("parameters") or {}
        elif api == "messages":
            tools[tool.get("name")] = tool.get("input_schema") or {}
        elif api == "google":
            for function in tool.get("functionDeclarations") or []:
                tools[function.get("name")] = function.get("parametersJsonSchema") or function.get("parameters") or {}
        else:
            tools[tool.get("name") or tool.get("type")] = tool.get("parameters") or {}
    return tools


def shell_call(command, tools):
    """-> {name, args} of the shell tool, or {name, input} where the agent offers one free-form tool for code."""
    name = next((name for name in SHELLS if name in tools), None)
    if name is None and "exec" in tools:
        code = "const r = await tools.exec_command(%s);\ntext(r.output ?? r);" % json.dumps({"cmd": command})
        return {"name": "exec", "input": code}
    if name is None:
        raise ScriptError("no shell tool is offered, only: " + ", ".join(map(str, tools)))
    properties = tools[name].get("properties") or {}
    args = {}
    for key in ("cmd", "command"):
        if key in properties:
            is_list = properties[key].get("type") == "array"
            args[key] = ["bash", "-lc", command] if is_list else command
            break
    if "description" in properties:
        args["description"] = "scripted"
    if "yield_time_ms" in properties:
        args["yield_time_ms"] = 10000
    if "is_background" in properties:
        args["is_background"] = False
    return {"name": name, "args": args}


def named_tools(api, body):
    """-> (name, namespace) of each tool that is offered, now or after a search."""
    if api != "responses":
        return [(name, None) for name in offered_tools(api, body)]
    found = []

    def add(tools, namespace):
        for tool in tools or []:
            if tool.get("type") == "namespace":
                add(tool.get("tools"), tool.get("name"))
            else:
                found.append((tool.get("name") or tool.get("type"), namespace))
    add(body.get("tools"), None)
    for item in body.get("input") or []:
        if isinstance(item, dict) and item.get("type") in ("additional_tools", "tool_search_output"):
            add(item.get("tools"), None)
    return found


def panel_call(api, body, wanted, has_searched):
    """-> (call, whether it is the search for the tool)."""
    name, args = wanted["name"], wanted.get("arguments") or {}
    tools = named_tools(api, body)
    for known, namespace in tools:
        if re.search("panel_+%s$" % name, (namespace or "") + "__" + str(known)):
            return {"name": known, "namespace": namespace, "args": args}, False
    names = [known for known, _ in tools]
    full = "mcp__panel__" + name
    if "tool_search" in names and not has_searched:
        if api == "responses":
            return {"name": "tool_search", "search": True, "args": {"query": "panel " + name}}, True
        return {"name": "tool_search", "args": {"query": "select:" + full}}, True
    if "tool_call" in names:
        return {"name": "tool_call", "args": {"name": full, "arguments": args}}, False
    raise ScriptError("no tool %r of `panel` is offered, only: %s" % (name, ", ".join(map(str, names))))


class ScriptError(Exception):
    """The script asks for something that cannot be."""


# ---------------------------------------------------------------- scripts and the log

class Book:
    """The scripts, how far each is played, and what was asked."""

    def __init__(self, log):
        self.scripts, self.position, self.lock = {}, {}, threading.Lock()
        self.searched = set()
        self.log = open(log, "a", buffering=1)

    def put(self, name, steps):
        with self.lock:
            self.scripts[name] = [step for step in steps for _ in range(step.get("times", 1))]
            self.position[name] = 0
            self.searched = {known for known in self.searched if known[0] != name}

    def has_searched(self, name, label):
        return (name, label) in self.searched

    def hold(self, name, label):
        """Only the search of a step was played: the step itself comes next."""
        with self.lock:
            self.searched.add((name, label))
            self.position[name] -= 1

    def next_step(self, name, is_main, body):
        """-> (label, step); only a main request moves the script."""
        with self.lock:
            if name not in self.scripts:
                raise ScriptError("there is no script %r" % name)
            steps = self.scripts[name]
            at = min(self.position[name], len(steps) - 1)
            if is_main:
                while "until" in steps[at] and steps[at]["until"] in body:
                    at += 1
                self.position[name] = at if "until" in steps[at] else at + 1
                return str(at), steps[at]
            failing = {key: steps[at][key] for key in ("fail", "retry_after") if key in steps[at]}
            return "side", failing or {"text": "ok", "usage": {"input": 0, "output": 0}}

    def remembered(self, name, body):
        """-> how many of the texts of the script the request holds: what the agent has kept of its conversation."""
        texts = {step["text"] for step in self.scripts[name] if step.get("text")}
        return sum(json.dumps(text)[1:-1] in body for text in texts)

    def read(self, name, body):
        """-> which of the texts that the script looks for the request holds."""
        looked_for = {text for step in self.scripts[name] for text in step.get("reads", [])}
        return sorted(text for text in looked_for if text in body)

    def note(self, entry):
        with self.lock:
            self.log.write(json.dumps(entry) + "\n")


# ---------------------------------------------------------------- HTTP

class ClientGone(Exception):
    """The agent hung up."""


class Cut(Exception):
    """The script breaks the connection."""


def some_id(prefix):
    return prefix + uuid.uuid4().hex[:24]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "fake-model"
    book = None

    def log_message(self, *_):
        pass

    def send_json(self, status, value, headers=None):
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"content-type": "application/json", "content-length": len(data), **(headers or {})}.items():
            self.send_header(name, str(text))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def start_stream(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.wfile.flush()

    def chunk(self, data):
        try:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        except OSError as error:
            raise ClientGone() from error

    def event(self, value, name=None):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.chunk((("event: %s\n" % name) if name else "").encode() + b"data: " + data + b"\n\n")

    def reset(self):
        """A TCP reset, as from a proxy that crashed."""
        self.close_connection = True
        try:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        except OSError:
            pass

    def wait(self, seconds):
        """Waits, but notices at once when the agent hangs up."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.connection.settimeout(min(left, 0.25))
            try:
                if self.connection.recv(1, socket.MSG_PEEK) == b"":
                    raise ClientGone()
                time.sleep(min(left, 0.25))  # the next request is there already: it stays there
            except socket.timeout:
                pass
            except OSError as error:
                raise ClientGone() from error
            finally:
                self.connection.settimeout(None)

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        if self.path.split("?")[0].endswith("/models"):
            return self.send_json(200, {"object": "list", "data": []})
        self.send_json(404, {"error": {"message": "there is no %s" % self.path, "type": "not_found"}})

    def read_body(self):
        if "chunked" not in (self.headers.get("transfer-encoding") or "").lower():
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        raw = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            raw += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return raw

    def do_POST(self):
        body = json.loads(self.read_body() or b"{}")
        path = self.path.split("?")[0]
        if path.startswith("/_script/"):
            self.book.put(path[len("/_script/"):], body)
            return self.send_json(200, {})
        google = re.match(r"^/s/([^/]+)/.*?models/([^/:]+):(\w+)$", path)
        match = google or re.match(r"^/s/([^/]+)/.*?(messages|responses|chat/completions|count_tokens)$", path)
        if match is None:
            return self.send_json(404, {"error": {"message": "there is no %s" % path, "type": "not_found"}})
        script, api = match.group(1), match.group(2).split("/")[0]
        if google:
            api, body = "google", {**body, "model": match.group(2), "stream": match.group(3).startswith("stream")}
        if api == "count_tokens" or google and match.group(3) == "countTokens":
            return self.send_json(200, {"input_tokens": 100, "totalTokens": 100})
        entry = {"script": script, "api": api, "model": body.get("model")}
        try:
            self.answer(script, api, body, entry)
        except ScriptError as error:
            entry.update(status=599, error=str(error))
            self.send_json(599, {"error": {"message": "fake_model: %s" % error, "type": "script_error"}})
        except Cut:
            entry["end"] = "reset"
            self.reset()
        except (ClientGone, BrokenPipeError, ConnectionResetError):
            entry["end"] = "client_gone"
            self.close_connection = True
        finally:
            entry.setdefault("end", "ok")
            self.book.note(entry)

    def answer(self, script, api, body, entry):
        tools = offered_tools(api, body)
        entry["step"], step = self.book.next_step(script, bool(tools), json.dumps(body))
        entry["remembers"] = self.book.remembered(script, json.dumps(body))
        entry["reads"] = self.book.read(script, json.dumps(body))
        model = body.get("model") or "fake-model"
        if step.get("delay"):
            self.wait(step["delay"])
        if "fail" in step:
            entry["status"], error = error_body(api, step["fail"], model, step.get("retry_after", 2))
            headers = {"request-id": "req_fake", "x-request-id": "req_fake"}
            if "retry_after" in step:
                headers["retry-after"] = step["retry_after"]
            return self.send_json(entry["status"], error, headers)
        entry["status"] = 200
        calls = [shell_call(step["shell"], tools)] if "shell" in step else []
        if "tool" in step:
            label = entry["step"]
            call, is_search = panel_call(api, body, step["tool"], self.book.has_searched(script, label))
            calls.append(call)
            if is_search:
                self.book.hold(script, label)
                entry["step"], step = label + "-search", {}
        reply = REPLIES[api](self, step, model, calls)
        if not body.get("stream"):
            if "cut_after" in step:
                raise Cut()
            return self.send_json(200, reply.whole())
        self.start_stream()
        reply.stream()
        self.chunk(b"")


# ---------------------------------------------------------------- the answers

class Reply:
    """What one step says, in the protocol of a subclass."""

    call_prefix = "call_"

    def __init__(self, handler, step, model, calls):
        self.handler, self.step, self.model, self.calls = handler, step, model, calls
        self.text = step.get("text", None if calls else "")
        self.reasoning = step.get("reasoning")
        self.usage = {"input": 1000, "cached": 0, "output": 50, "reasoning": 0, **(step.get("usage") or {})}
        self.sent = 0
        for call in calls:
            call["id"] = some_id(self.call_prefix)

    def pieces(self):
        size = max(1, -(-len(self.text) // 3))
        return [self.text[at:at + size] for at in range(0, len(self.text), size)] or [""]

    def beat(self):
        """Comes before each piece of content."""
        if self.sent >= self.step.get("cut_after", 1 << 30):
            raise Cut()
        self.sent += 1


class Messages(Reply):
    call_prefix = "toolu_"

    def counts(self, output):
        return {"input_tokens": self.usage["input"], "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": self.usage["cached"], "output_tokens": output, "service_tier": "standard"}

    def blocks(self):
        blocks = []
        if self.reasoning:
            blocks.append({"type": "thinking", "thinking": self.reasoning, "signature": "c2ln"})
        if self.text is not None:
            blocks.append({"type": "text", "text": self.text})
        for call in self.calls:
            blocks.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]})
        return blocks

    def message(self, content, reason, output):
        return {"id": some_id("msg_"), "type": "message", "role": "assistant", "model": self.model, "content": content,
                "stop_reason": reason, "stop_sequence": None, "usage": self.counts(output)}

    def reason(self):
        return "tool_use" if self.calls else "end_turn"

    def whole(self):
        return self.message(self.blocks(), self.reason(), self.usage["output"])

    def stream(self):
        def event(value):
            self.handler.event(value, value["type"])
        # The number of output tokens at the start is not the one at the end: whoever takes it is wrong.
        event({"type": "message_start", "message": self.message([], None, 1)})
        event({"type": "ping"})
        for index, block in enumerate(self.blocks()):
            def delta(value):
                event({"type": "content_block_delta", "index": index, "delta": value})
            kind = block["type"]
            empty = {"thinking": {"thinking": "", "signature": ""}, "text": {"text": ""}, "tool_use": {"input": {}}}[kind]
            event({"type": "content_block_start", "index": index, "content_block": {**block, **empty}})
            if kind == "text":
                for piece in self.pieces():
                    self.beat()
                    delta({"type": "text_delta", "text": piece})
            elif kind == "thinking":
                delta({"type": "thinking_delta", "thinking": block["thinking"]})
                delta({"type": "signature_delta", "signature": block["signature"]})
            else:
                delta({"type": "input_json_delta", "partial_json": json.dumps(block["input"])})
            event({"type": "content_block_stop", "index": index})
        self.beat()
        event({"type": "message_delta", "delta": {"stop_reason": self.reason(), "stop_sequence": None},
               "usage": {"output_tokens": self.usage["output"]}})
        event({"type": "message_stop"})


class Chat(Reply):
    def counts(self):
        read, said = self.usage["input"] + self.usage["cached"], self.usage["output"]
        return {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said,
                "prompt_tokens_details": {"cached_tokens": self.usage["cached"]},
                "completion_tokens_details": {"reasoning_tokens": self.usage["reasoning"]}}

    def tool_calls(self):
        return [{"index": index, "id": call["id"], "type": "function",
                 "function": {"name": call["name"], "arguments": json.dumps(call["args"])}}
                for index, call in enumerate(self.calls)]

    def finish(self):
        return "tool_calls" if self.calls else "stop"

    def envelope(self, kind, choices, usage):
        return {"id": some_id("chatcmpl-"), "object": kind, "created": int(time.time()), "model": self.model,
                "choices": choices, "usage": usage}

    def whole(self):
        message = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = self.tool_calls()
        choice = {"index": 0, "message": message, "finish_reason": self.finish()}
        return self.envelope("chat.completion", [choice], self.counts())

    def stream(self):
        def event(delta, finish=None):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            self.handler.event(self.envelope("chat.completion.chunk", [choice], None))
        event({"role": "assistant", "content": ""})
        if self.reasoning:
            event({"reasoning_content": self.reasoning})
        if self.text is not None:
            for piece in self.pieces():
                self.beat()
                event({"content": piece})
        for call in self.tool_calls():
            event({"tool_calls": [call]})
        self.beat()
        event({}, self.finish())
        self.handler.event(self.envelope("chat.completion.chunk", [], self.counts()))
        self.handler.event(b"[DONE]")


class Responses(Reply):
    def counts(self):
        read, said = self.usage["input"] + self.usage["cached"], self.usage["output"]
        return {"input_tokens": read, "input_tokens_details": {"cached_tokens": self.usage["cached"]},
                "output_tokens": said, "output_tokens_details": {"reasoning_tokens": self.usage["reasoning"]},
                "total_tokens": read + said}

    def items(self):
        items = []
        if self.reasoning:
            summary = [{"type": "summary_text", "text": self.reasoning}]
            items.append({"type": "reasoning", "id": some_id("rs_"), "summary": summary, "encrypted_content": None})
        if self.text is not None:
            content = [{"type": "output_text", "text": self.text, "annotations": []}]
            items.append({"type": "message", "id": some_id("msg_"), "status": "completed", "role": "assistant",
                          "content": content})
        for call in self.calls:
            item = {"status": "completed", "call_id": call["id"], "name": call["name"]}
            if call.get("search"):
                item = {"type": "tool_search_call", "id": some_id("ts_"), "status": "completed", "call_id": call["id"],
                        "execution": "client", "arguments": call["args"]}
            elif "input" in call:
                item.update(type="custom_tool_call", id=some_id("ctc_"), input=call["input"])
            else:
                item.update(type="function_call", id=some_id("fc_"), arguments=json.dumps(call["args"]))
                if call.get("namespace"):
                    item["namespace"] = call["namespace"]
            items.append(item)
        return items

    def envelope(self, name, status, items, usage):
        return {"id": name, "object": "response", "created_at": int(time.time()), "status": status,
                "model": self.model, "output": items, "parallel_tool_calls": True, "error": None,
                "incomplete_details": None, "usage": usage}

    def whole(self):
        return self.envelope(some_id("resp_"), "completed", self.items(), self.counts())

    def stream(self):
        name, number = some_id("resp_"), iter(range(1 << 30))

        def event(kind, **fields):
            self.handler.event({"type": kind, "sequence_number": next(number), **fields}, kind)
        event("response.created", response=self.envelope(name, "in_progress", [], None))
        items = self.items()
        for index, item in enumerate(items):
            at = {"output_index": index}
            if item["type"] == "message":
                part = {"item_id": item["id"], "content_index": 0, **at}
                event("response.output_item.added", item={**item, "status": "in_progress", "content": []}, **at)
                event("response.content_part.added", part={**item["content"][0], "text": ""}, **part)
                for piece in self.pieces():
                    self.beat()
                    event("response.output_text.delta", delta=piece, **part)
                event("response.output_text.done", text=self.text, **part)
                event("response.content_part.done", part=item["content"][0], **part)
            else:
                event("response.output_item.added", item=item, **at)
            event("response.output_item.done", item=item, **at)
        self.beat()
        event("response.completed", response=self.envelope(name, "completed", items, self.counts()))


class Google(Reply):
    def counts(self):
        read, thought = self.usage["input"] + self.usage["cached"], self.usage["reasoning"]
        said = self.usage["output"] - thought  # here the others count thoughts among it
        return {"promptTokenCount": read, "cachedContentTokenCount": self.usage["cached"], "candidatesTokenCount": said,
                "thoughtsTokenCount": thought, "totalTokenCount": read + said + thought}

    def frame(self, parts, finish=None):
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        return {"candidates": [candidate], "usageMetadata": self.counts(), "modelVersion": self.model,
                "responseId": some_id("")}

    def function_calls(self):
        return [{"functionCall": {"id": call["id"], "name": call["name"], "args": call["args"]},
                 "thoughtSignature": "c2ln"} for call in self.calls]

    def whole(self):
        text = [] if self.text is None else [{"text": self.text}]
        return self.frame(text + self.function_calls(), "STOP")

    def stream(self):
        if self.reasoning:
            self.handler.event(self.frame([{"text": self.reasoning, "thought": True}]))
        if self.text is not None:
            for piece in self.pieces():
                self.beat()
                self.handler.event(self.frame([{"text": piece}]))
        if self.calls:
            self.handler.event(self.frame(self.function_calls()))
        self.beat()
        self.handler.event(self.frame([{"text": ""}], "STOP"))


REPLIES = {"messages": Messages, "chat": Chat, "responses": Responses, "google": Google}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def main():
    Handler.book = Book(sys.argv[1])
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"port": server.server_address[1]}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
