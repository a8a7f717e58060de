import HTTPTypes
import Hummingbird
import NIOCore

/// `GET /metrics`, for Prometheus.
struct MetricsController: Sendable {
    static let path = "/metrics"

    let metrics: PrometheusMetrics
    /// Who may read them: an API key of scope `metrics`. nil where nobody else can reach the port.
    let authentication: Authentication?

    func addRoutes(to router: Router<MerchantRequestContext>) {
        router.get(RouterPath(Self.path)) { request, _ in
            if let authentication { _ = try await authentication.key(of: request, scope: .metrics) }
            return Response(
                status: .ok, headers: [.contentType: PrometheusText.contentType],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text)))
        }
    }
}
