import ControlWire
import Testing

@Suite(.timeLimit(.minutes(1))) struct RouteLineTests {
    /// The tables of the control port write a request in the same way.
    @Test func pathsHaveTheirValuesEncoded() {
        let expected: [(route: ControlRoute, path: String)] = [
            (.account(.sandbox, email: "a/b@example.com"), "/control/v1/sandbox/accounts/a%2Fb%40example.com"),
            (
                .managed(.deleteProduct("com.example.app", "a b", revision: 7, by: nil)),
                "/control/v1/managed/apps/com.example.app/products/a%20b?revision=7"
            ),
            (
                .notifications(.list(.production, bundle: "com.example.app", limit: 5)),
                "/control/v1/production/notifications?bundle=com.example.app&limit=5"
            ),
            (.refundRequests(.approve(.sandbox, id: "{id}")), "/control/v1/sandbox/refund-requests/%7Bid%7D/approve"),
        ]
        for (route, path) in expected { #expect(route.path == path) }
        #expect(
            ControlRoute.refundRequests(.list(.sandbox)).queryNames == ["bundle", "state", "before", "limit"])
    }
}
