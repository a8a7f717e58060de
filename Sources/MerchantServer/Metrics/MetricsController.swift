import HTTPSupport
import HTTPTypes
import Hummingbird
import MerchantWire
import NIOCore

/// Serves `GET /metrics` to Prometheus.
struct MetricsController: Sendable {
    let metrics: PrometheusMetrics
    /// Requires an API key with the scope `metrics`; nil when only this machine can reach the port.
    let authentication: Authentication?

    func addRoutes(to router: Router<MerchantRequestContext>) {
        router.add(.metrics) { request, _ in
            if let authentication { _ = try await authentication.key(of: request, scope: .metrics) }
            return Response(
                status: .ok, headers: [.contentType: PrometheusText.contentType],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text)))
        }
    }
}
