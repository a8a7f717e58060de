/// The modules that each module may import: arrows only point down, and the three columns (app, store, merchant) do not
/// know one another. A new module or arrow is decided here first.
struct ModuleTable {
    /// What one module may use, Swift's own modules aside.
    struct Row {
        /// Modules of this package.
        var own: Set<String>
        /// Modules of dependencies and of the system.
        var outside: Set<String>

        init(_ own: Set<String>, outside: Set<String> = []) {
            self.own = own
            self.outside = outside
        }

        var all: Set<String> { own.union(outside) }
    }

    /// Every module may use these. `FoundationNetworking` and `FoundationXML` are not among them.
    static let everywhere: Set<String> = [
        "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Swift", "Synchronization", "_Concurrency",
    ]

    static let rows: [String: Row] = [
        // The ground floor.
        "CornerstoreEncoding": Row([]),
        "StoreWire": Row(["CornerstoreEncoding"]),
        "ControlWire": Row(["CornerstoreEncoding", "StoreWire"]),
        "MerchantWire": Row(["CornerstoreEncoding", "StoreWire"]),
        "StoreReceipts": Row(
            ["CornerstoreEncoding", "StoreWire"],
            outside: ["Crypto", "CryptoExtras", "SwiftASN1", "X509"]),
        "CBZip2": Row([]),
        "CGD": Row([]),
        "CPostgreSQL": Row([]),
        "CLinux": Row([]),
        "CornerstoreCSQLite": Row([]),
        "CornerstoreCCurl": Row([]),
        "CornerstoreHTTPClient": Row(["CornerstoreCCurl"]),
        "CornerstoreSQLite": Row(["CornerstoreCSQLite"]),
        "CZlib": Row([]),
        "ContentPackages": Row(["CLinux", "CZlib", "CornerstoreEncoding"], outside: ["Crypto"]),
        "ContentDownloads": Row(["CornerstoreEncoding", "CornerstoreHTTPClient"], outside: ["Crypto"]),
        "BlobStorage": Row(["CornerstoreEncoding"], outside: ["AsyncHTTPClient", "Crypto", "NIOCore", "NIOPosix"]),
        "Backups": Row(["BlobStorage"], outside: ["Crypto", "Subprocess", "SystemPackage"]),
        "Database": Row(["CPostgreSQL", "CornerstoreEncoding", "CornerstoreSQLite"], outside: ["Crypto", "Logging"]),
        "ConsolePages": Row(["CornerstoreEncoding"], outside: ["Crypto", "Mustache"]),
        "ServerSupport": Row([]),
        "HTTPSupport": Row(
            ["CZlib", "CornerstoreEncoding"],
            outside: [
                "HTTPTypes", "Hummingbird", "HummingbirdCore", "Logging", "Metrics", "NIOCore", "NIOHTTP1",
                "NIOHTTPTypes", "NIOHTTPTypesHTTP1",
            ]),

        // The app's column.
        "StoreKit": Row(
            [
                "ContentDownloads", "ContentPackages", "CornerstoreEncoding", "CornerstoreHTTPClient",
                "CornerstoreSQLite", "StoreReceipts", "StoreWire",
            ],
            outside: ["Crypto"]
        ),
        "PurchaseVault": Row(["CornerstoreEncoding", "StoreKit", "StoreReceipts", "StoreWire"], outside: ["Crypto"]),
        "MerchantClient": Row(
            [
                "ContentDownloads", "CornerstoreEncoding", "CornerstoreHTTPClient", "MerchantWire", "StoreKit",
                "StoreWire",
            ],
            outside: ["Crypto"]
        ),

        // The store's column. The domain knows nothing of HTTP.
        "Store": Row(
            [
                "BlobStorage", "CBZip2", "ContentPackages", "CornerstoreEncoding", "CornerstoreSQLite", "Database",
                "StoreReceipts", "StoreWire",
            ],
            outside: ["Crypto", "CryptoExtras", "Logging", "Yams"]
        ),
        "StoreServer": Row(
            [
                "Backups",
                "BlobStorage", "CGD", "ConsolePages", "ControlWire", "CornerstoreEncoding", "CornerstoreHTTPClient",
                "Database", "HTTPSupport", "ServerSupport", "Store", "StoreReceipts", "StoreWire",
            ],
            outside: [
                "Crypto", "HTTPTypes", "Hummingbird", "Logging", "Metrics", "NIOCore", "NIOPosix", "ServiceLifecycle",
                "UnixSignals",
            ]
        ),

        // The merchant's column. It cannot see the store's.
        "Merchant": Row(
            ["BlobStorage", "CornerstoreEncoding", "Database", "MerchantWire", "StoreReceipts", "StoreWire"],
            outside: ["Crypto", "Logging", "Yams"]
        ),
        "MerchantServer": Row(
            [
                "Backups", "BlobStorage", "CornerstoreEncoding", "HTTPSupport", "Merchant", "MerchantWire",
                "ServerSupport", "StoreReceipts", "StoreWire",
            ],
            outside: [
                "AsyncHTTPClient", "Crypto", "HTTPTypes", "Hummingbird", "JWTKit", "Logging", "Metrics", "NIOCore",
                "ServiceLifecycle", "UnixSignals", "Yams",
            ]
        ),

        // On top of them. The console asks both columns by their routes, like every other client.
        "Console": Row(
            [
                "ConsolePages", "ControlWire", "CornerstoreEncoding", "HTTPSupport", "MerchantWire", "ServerSupport",
                "StoreReceipts", "StoreWire",
            ],
            outside: ["Crypto", "HTTPTypes", "Hummingbird", "Logging", "NIOCore", "ServiceLifecycle"]
        ),
        "CornerstoreCommands": Row(
            [
                "Backups",
                "BlobStorage", "Console", "ConsolePages", "ContentDownloads", "ContentPackages", "ControlWire",
                "CornerstoreEncoding",
                "Database", "DeviceScreen", "HTTPSupport", "Merchant", "MerchantServer", "MerchantWire",
                "ServerSupport",
                "Store", "StoreKit",
                "StoreReceipts",
                "StoreServer", "StoreWire",
            ],
            outside: [
                "ArgumentParser", "AsyncHTTPClient", "Configuration", "Crypto", "Logging", "NIOCore",
                "ServiceLifecycle", "Subprocess", "SystemPackage", "UnixSignals", "Yams",
            ]
        ),
        // An app's screen in a browser: pages of the console's kind over the app's StoreKit.
        "DeviceScreen": Row(
            [
                "ConsolePages", "ControlWire", "CornerstoreEncoding", "CornerstoreHTTPClient", "HTTPSupport",
                "StoreKit",
                "StoreReceipts", "StoreWire",
            ],
            outside: ["HTTPTypes", "Hummingbird", "Logging", "NIOCore", "ServiceLifecycle"]
        ),
        "cornerstore": Row(["CornerstoreCommands"], outside: ["NIOCore", "NIOPosix"]),
        "Examples": Row(
            [
                "CZlib", "ConsolePages", "DeviceScreen", "MerchantClient", "PurchaseVault", "StoreKit",
                "StoreReceipts",
            ],
            outside: ["AsyncHTTPClient"]),
        "cornerstore-bench": Row(
            [
                "ContentPackages", "CornerstoreHTTPClient", "Database", "Merchant", "MerchantServer", "MerchantWire",
                "Store", "StoreKit", "StoreReceipts", "StoreServer", "StoreWire",
            ],
            outside: [
                "AsyncHTTPClient", "Crypto", "CryptoExtras", "Hummingbird", "Logging", "NIOCore", "NIOPosix",
            ]
        ),
    ]

    /// The columns of the design. They stand on the ground floor, the modules that are in no column.
    enum Column: CaseIterable {
        case app
        case store
        case merchant
        /// The command line and the benchmarks, on top of the three.
        case top

        var modules: Set<String> {
            switch self {
            case .app: ["DeviceScreen", "Examples", "MerchantClient", "PurchaseVault", "StoreKit"]
            case .store: ["Store", "StoreServer"]
            case .merchant: ["Merchant", "MerchantServer"]
            case .top: ["Console", "CornerstoreCommands", "cornerstore", "cornerstore-bench"]
            }
        }
    }

    /// The column that a module is in; nil for the ground floor.
    static func column(of module: String) -> Column? { Column.allCases.first { $0.modules.contains(module) } }

    /// Whether the design lets `module` use `other`, directly or through others.
    static func mayReach(_ module: String, _ other: String) -> Bool {
        switch (column(of: module), column(of: other)) {
        case (.top, _), (_, nil): true
        case (let column, let otherColumn): column == otherColumn
        }
    }

    /// The modules that `module` uses, directly or through others.
    static func reachable(from module: String) -> Set<String> {
        var found: Set<String> = []
        var next = [module]
        while let name = next.popLast() {
            for used in rows[name]?.own ?? [] where found.insert(used).inserted { next.append(used) }
        }
        return found
    }

    /// The modules that speak HTTP as a server; no others may import a server's libraries.
    static let servers = Column.top.modules.union([
        "DeviceScreen", "Examples", "HTTPSupport", "MerchantServer", "StoreServer",
    ])
    /// The libraries of an HTTP server.
    static let serverLibraries: Set<String> = [
        "HTTPTypes", "Hummingbird", "HummingbirdCore", "NIOHTTP1", "NIOHTTPTypes", "NIOHTTPTypesHTTP1",
    ]

    /// The row that governs a file: its module's; all of `Examples/` share one, and may use one another's libraries.
    static func rowName(ofFile path: String) -> String? {
        let parts = path.split(separator: "/")
        switch parts.first {
        case "Sources" where parts.count > 2: return String(parts[1])
        case "Examples": return "Examples"
        case "Benchmarks": return "cornerstore-bench"
        default: return nil
        }
    }
}
