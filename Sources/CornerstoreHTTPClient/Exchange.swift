import CornerstoreCCurl
import Foundation

/// One request and its response, as a handle of curl. Only the thread of curl uses it.
final class Exchange {
    /// The largest number of bytes that are read from a connection at once.
    private static let readSize = 64 << 10

    let stream: ResponseStream
    let easy: UnsafeMutableRawPointer
    private let limits: HTTPLimits
    private let start = ContinuousClock.now
    private var lastByte: ContinuousClock.Instant
    private var uploaded = 0
    private var isPaused = false
    private var wasSent = false
    private var head = HTTPHeadReader()
    private var fields: UnsafeMutablePointer<curl_slist>?

    /// Nil when curl does not take the request, for example because its host is malformed, or for lack of memory.
    init?(_ request: HTTPRequest, _ stream: ResponseStream, authorities: String?) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        self.stream = stream
        limits = request.limits
        lastByte = start
        let results =
            setProtection(authorities) + setCallbacks() + setRequest(request) + [set(CURLOPT_BUFFERSIZE, Self.readSize)]
        guard results.allSatisfy({ $0 == CURLE_OK }), setFields(request.fields) else { return nil }
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(fields)
    }

    /// The exchange of a handle. It must still be in ``Transfers``.
    static func of(_ easy: UnsafeMutableRawPointer?) -> Exchange? {
        guard let easy, let context = cornerstore_curl_private(easy) else { return nil }
        return from(context)
    }

    private static func from(_ context: UnsafeMutableRawPointer) -> Exchange {
        Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: - Settings

    private func set(_ option: CURLoption, _ value: Int) -> CURLcode {
        cornerstore_curl_set_long(easy, option, value)
    }

    private func set(_ option: CURLoption, _ value: String) -> CURLcode {
        cornerstore_curl_set_pointer(easy, option, value)
    }

    private func set(_ option: CURLoption, to object: UnsafeRawPointer?) -> CURLcode {
        cornerstore_curl_set_pointer(easy, option, object)
    }

    private func setProtection(_ authorities: String?) -> [CURLcode] {
        var results = [
            cornerstore_curl_allow_only_http(easy),
            set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            // Not even one of the environment.
            set(CURLOPT_PROXY, ""),
            set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1),
            set(CURLOPT_PATH_AS_IS, 1),
            // Timeouts work without signals.
            set(CURLOPT_NOSIGNAL, 1),
            set(CURLOPT_CONNECTTIMEOUT_MS, max(1, limits.connect.milliseconds)),
            cornerstore_curl_leave_lookups(easy),
            cornerstore_curl_close_on_exec(easy),
        ]
        if let authorities { results += [set(CURLOPT_CAINFO, authorities), set(CURLOPT_CAPATH, to: nil)] }
        return results
    }

    private func setCallbacks() -> [CURLcode] {
        let context = Unmanaged.passUnretained(self).toOpaque()
        return [
            set(CURLOPT_PRIVATE, to: context),
            set(CURLOPT_WRITEDATA, to: context),
            cornerstore_curl_set_write(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                guard let context else { return 0 }
                return Exchange.from(context).receive(UnsafeRawBufferPointer(start: bytes, count: size * count))
            },
            set(CURLOPT_HEADERDATA, to: context),
            cornerstore_curl_set_write(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
                guard let context else { return 0 }
                return Exchange.from(context).receive(line: UnsafeRawBufferPointer(start: bytes, count: size * count))
            },
            set(CURLOPT_PREREQDATA, to: context),
            cornerstore_curl_set_prerequest(easy) { context, _, _, _, _ in
                guard let context else { return CURL_PREREQFUNC_ABORT }
                return Exchange.from(context).isToBeSent() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            },
        ]
    }

    private func setRequest(_ request: HTTPRequest) -> [CURLcode] {
        let own = request.hasOwnConnection ? 1 : 0
        var results = [
            set(CURLOPT_URL, request.url), set(CURLOPT_FRESH_CONNECT, own), set(CURLOPT_FORBID_REUSE, own),
        ]
        if let body = request.body ?? (["POST", "PUT", "PATCH"].contains(request.method) ? Data() : nil) {
            results.append(cornerstore_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, Int(body.count)))
            body.withUnsafeBytes { bytes in
                // Without a pointer, curl would ask a callback for the body.
                results.append(
                    bytes.baseAddress.map { set(CURLOPT_COPYPOSTFIELDS, to: $0) } ?? set(CURLOPT_COPYPOSTFIELDS, ""))
            }
        } else {
            results.append(set(CURLOPT_HTTPGET, 1))
        }
        return results + [set(CURLOPT_CUSTOMREQUEST, request.method)]
    }

    private func setFields(_ given: [(name: String, value: String)]) -> Bool {
        // A field without a value is written with a semicolon. With a colon, curl leaves out its own field.
        var lines = given.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        for name in ["Accept", "Content-Type", "Expect"]
        where !given.contains(where: { $0.name.lowercased() == name.lowercased() }) {
            lines.append("\(name):")
        }
        for line in lines {
            guard let longer = curl_slist_append(fields, line) else { return false }
            fields = longer
        }
        return set(CURLOPT_HTTPHEADER, to: fields) == CURLE_OK
    }

    // MARK: - Called by curl

    /// Whether this is the first attempt. When a reused connection turns out to be closed, curl sends the request
    /// again, although the server may have performed it.
    private func isToBeSent() -> Bool {
        defer { wasSent = true }
        return !wasSent
    }

    private func receive(line: UnsafeRawBufferPointer) -> Int {
        lastByte = .now
        switch head.add(line, status: { cornerstore_curl_status(easy) }) {
        case .more: return line.count
        case .complete(let head):
            stream.receive(head)
            return line.count
        case .tooLarge:
            stream.fail(.malformedResponse)
            return 0
        }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !bytes.isEmpty else { return 0 }
        lastByte = .now
        switch stream.receive(bytes) {
        case .kept: return bytes.count
        case .full:
            isPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        case .over: return 0
        }
    }

    // MARK: - Called by ``Transfers``

    /// Lets a paused transfer go on. Returns false when it failed.
    func resume() -> Bool {
        guard isPaused else { return true }
        isPaused = false
        lastByte = .now
        // This may call `receive`, which may pause again.
        let result = cornerstore_curl_unpause(easy)
        guard result != CURLE_OK else { return true }
        finish(result)
        return false
    }

    func finish(_ result: CURLcode) {
        if result == CURLE_OK { stream.complete() } else { stream.fail(HTTPClientError(result)) }
    }

    /// The time when the exchange fails if no byte arrives.
    func deadline(at now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        var deadlines: [ContinuousClock.Instant] = []
        if !isPaused {
            // Sent bytes are only counted when the time is up.
            if lastByte + limits.silence <= now, case let count = cornerstore_curl_uploaded(easy), count != uploaded {
                (uploaded, lastByte) = (Int(count), now)
            }
            deadlines.append(lastByte + limits.silence)
        }
        if !head.isComplete { deadlines.append(start + limits.head) }
        if let whole = limits.whole { deadlines.append(start + whole) }
        return deadlines.min() ?? now + .seconds(3600)
    }
}

extension Duration {
    /// Rounded up.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
