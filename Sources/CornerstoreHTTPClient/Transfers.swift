import CornerstoreCCurl

/// The exchanges that are under way. Only the thread of curl uses it.
final class Transfers {
    private let multi: UnsafeMutableRawPointer
    private let authorities: String?
    private var exchanges: [ObjectIdentifier: Exchange] = [:]

    init(_ multi: UnsafeMutableRawPointer, authorities: String?) {
        self.multi = multi
        self.authorities = authorities
    }

    var isEmpty: Bool { exchanges.isEmpty }

    func apply(_ command: TransferLoop.Command) {
        switch command {
        case .start(let request, let stream):
            guard !stream.isOver else { return }
            guard let exchange = Exchange(request, stream, authorities: authorities),
                curl_multi_add_handle(multi, exchange.easy) == CURLM_OK
            else { return stream.fail(.failed) }
            exchanges[ObjectIdentifier(stream)] = exchange
        case .resume(let stream):
            if let exchange = exchanges[ObjectIdentifier(stream)], !exchange.resume() { remove(exchange) }
        case .cancel(let stream):
            if let exchange = exchanges[ObjectIdentifier(stream)] { remove(exchange) }
        }
    }

    /// Sends and receives what can be sent and received now. Returns the milliseconds until the next deadline.
    func advance() -> Int32 {
        var running: Int32 = 0
        let result = curl_multi_perform(multi, &running)
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let exchange = Exchange.of(message.pointee.easy_handle)
            else { continue }
            exchange.finish(message.pointee.data.result)
            remove(exchange)
        }
        if result != CURLM_OK {
            for exchange in exchanges.values { fail(exchange, .failed) }
        }
        return expire(at: .now)
    }

    private func expire(at now: ContinuousClock.Instant) -> Int32 {
        var next = now + .seconds(60)
        for exchange in exchanges.values {
            let deadline = exchange.deadline(at: now)
            if deadline <= now { fail(exchange, .timedOut) } else { next = min(next, deadline) }
        }
        return Int32(clamping: (next - now).milliseconds)
    }

    private func fail(_ exchange: Exchange, _ error: HTTPClientError) {
        exchange.stream.fail(error)
        remove(exchange)
    }

    /// Ends an exchange. Its connection is closed unless the response is complete.
    private func remove(_ exchange: Exchange) {
        curl_multi_remove_handle(multi, exchange.easy)
        exchanges[ObjectIdentifier(exchange.stream)] = nil
    }
}
