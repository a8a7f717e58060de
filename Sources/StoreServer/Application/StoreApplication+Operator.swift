import ControlWire
import Foundation
import Hummingbird
import ServerSupport
import StoreReceipts
import Synchronization

/// The version of the program.
public enum CornerstoreVersion {
    /// The version, such as `0.1.0`.
    public static let text = "0.1.0"
}

extension StoreApplication {
    /// Builds the router of the control port. Each has the same state behind it, so a program may also answer its own
    /// requests with one.
    /// - Parameter isGuarded: whether requests come from connections. A part of this process needs no token.
    public func controlRouter(isGuarded: Bool) -> Router<StoreRequestContext> {
        StoreRouters.controlRouter(
            [sandbox, production], apps: apps, catalog: catalog, managed: managed, desk: desk, reviews: reviews,
            campaigns: campaigns, feeds: feedControl, keys: apiKeyControl,
            authority: AuthorityController(authority: currentAuthority, now: operatorDesk.now),
            notifications: notificationControl,
            adminToken: configuration.adminToken, isGuarded: isGuarded, patience: configuration.stallPatience,
            operatorDesk: operatorDesk, console: { [openAddresses] in openAddresses.value?.console },
            operation: operation)
    }
}

extension ControlAPI.Settings {
    init(
        _ configuration: StoreServerConfiguration, _ authority: CertificateAuthority, _ addresses: Addresses?,
        node: Int, processes: [ControlAPI.StoreProcess]?
    ) {
        let limits = configuration.limits.values
        var numbers = [
            "connections": limits.connections, "bodyBytes": limits.bodyBytes,
            "bodySeconds": Int(limits.bodyPatience.components.seconds),
            "answerSeconds": Int(limits.answerPatience.components.seconds), "sheets": SheetBoard.most,
            "eventStreams": EventPlaces.most, "loggedRequests": RequestLog.most,
        ]
        numbers["connectionsPerAddress"] = limits.connectionsPerAddress
        var rates: [String: ControlAPI.Rate] = [:]
        rates["signInsOfAddress"] = configuration.signInRates.map { ControlAPI.Rate($0.address) }
        rates["signInsOfAccount"] = configuration.signInRates.map { ControlAPI.Rate($0.account) }
        rates["searchesOfAddress"] = configuration.searchRate.map { ControlAPI.Rate($0) }
        var urls: [String: String] = [:]
        if let addresses {
            urls = [
                "control": addresses.control, "sandbox": addresses.sandbox, "production": addresses.production,
                "storefront": addresses.storefront,
            ]
            urls["merchant"] = addresses.merchant
        }
        self.init(
            version: CornerstoreVersion.text, addresses: urls,
            database: configuration.databaseURL == nil ? "SQLite" : "PostgreSQL",
            dataDirectory: configuration.dataDirectory.path,
            roots: [
                ControlAPI.Root(name: "receipts", authority.receiptRoot),
                ControlAPI.Root(name: "jws", authority.jwsRoot),
            ],
            node: node, needsAdminToken: configuration.adminToken != nil, limits: numbers,
            rates: rates, processes: processes)
    }
}

extension ControlAPI.Rate {
    fileprivate init(_ rate: TokenRate) { self.init(burst: rate.burst, perSecond: rate.perSecond) }
}

/// The addresses of the running server. They are known once the ports are open.
final class OpenAddresses: Sendable {
    private let addresses = Mutex<Addresses?>(nil)

    var value: Addresses? {
        get { addresses.withLock { $0 } }
        set { addresses.withLock { $0 = newValue } }
    }
}
