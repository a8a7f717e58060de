import ControlWire
import HTTPSupport
import HTTPTypes
import Hummingbird
import NIOCore

/// Serves `GET /metrics` to Prometheus, on the control port only and under its guard: with an admin token, requests
/// carry it.
struct MetricsController: Sendable {
    let metrics: StoreMetrics

    func addRoutes(to router: Router<StoreRequestContext>) {
        router.on(.metrics) { [metrics] _, _ -> Response in
            Response(
                status: .ok, headers: [.contentType: PrometheusText.contentType, .cacheControl: "no-store"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text)))
        }
    }
}
