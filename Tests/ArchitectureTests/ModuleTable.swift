/// What a module may import, row for row the table of the design: arrows only point down, and the three columns (app,
/// store, merchant) do not know one another. A new module or arrow is decided here first.
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
        "StoreWire": Row([]),
        "MerchantWire": Row(["StoreWire"]),
        "StoreReceipts": Row(["StoreWire"], outside: ["Crypto", "CryptoExtras", "JWTKit", "SwiftASN1", "X509"]),
        "CPostgreSQL": Row([]),
        "CLinux": Row([]),
        "CornerstoreCSQLite": Row([]),
        "CornerstoreSQLite": Row(["CornerstoreCSQLite"]),
        "CZlib": Row([]),
        "ContentPackages": Row(["CLinux", "CZlib"], outside: ["Crypto"]),
        "ContentDownloads": Row([], outside: ["AsyncHTTPClient", "Crypto", "NIOCore"]),
        "BlobStorage": Row([], outside: ["AsyncHTTPClient", "Crypto", "NIOCore", "NIOPosix"]),
        "Database": Row(["CPostgreSQL", "CornerstoreSQLite"], outside: ["Crypto", "Logging"]),
        "HTTPSupport": Row(
            [],
            outside: [
                "HTTPTypes", "Hummingbird", "HummingbirdCore", "Logging", "NIOCore", "NIOHTTP1", "NIOHTTPTypes",
                "NIOHTTPTypesHTTP1",
            ]),

        // The app's column.
        "StoreKit": Row(
            ["ContentDownloads", "ContentPackages", "CornerstoreSQLite", "StoreReceipts", "StoreWire"],
            outside: ["AsyncHTTPClient", "NIOCore", "NIOFoundationCompat"]
        ),
        "PurchaseVault": Row(["StoreKit", "StoreReceipts", "StoreWire"], outside: ["Crypto"]),
        "MerchantClient": Row(
            ["ContentDownloads", "MerchantWire", "StoreKit", "StoreReceipts", "StoreWire"],
            outside: ["AsyncHTTPClient", "Crypto", "NIOCore"]
        ),

        // The store's column. The domain knows nothing of HTTP.
        "Store": Row(
            ["BlobStorage", "ContentPackages", "Database", "StoreReceipts", "StoreWire"],
            outside: ["Crypto", "CryptoExtras", "Logging", "Yams"]
        ),
        "StoreServer": Row(
            ["BlobStorage", "HTTPSupport", "Store", "StoreReceipts", "StoreWire"],
            outside: [
                "Crypto", "HTTPTypes", "Hummingbird", "Logging", "NIOCore", "NIOPosix", "ServiceLifecycle",
                "UnixSignals",
            ]
        ),

        // The merchant's column. It cannot see the store's.
        "Merchant": Row(
            ["BlobStorage", "Database", "MerchantWire", "StoreReceipts", "StoreWire"],
            outside: ["Crypto", "Logging", "Yams"]
        ),
        "MerchantServer": Row(
            ["BlobStorage", "HTTPSupport", "Merchant", "MerchantWire", "StoreReceipts", "StoreWire"],
            outside: [
                "AsyncHTTPClient", "Crypto", "HTTPTypes", "Hummingbird", "JWTKit", "Logging", "Metrics", "NIOCore",
                "NIOPosix", "ServiceLifecycle", "UnixSignals", "Yams",
            ]
        ),

        // On top of them.
        "StoreKitTest": Row(["Store", "StoreKit", "StoreServer", "StoreWire"]),
        "CornerstoreCommands": Row(
            [
                "BlobStorage", "ContentPackages", "Database", "HTTPSupport", "Merchant", "MerchantServer",
                "MerchantWire", "MonkeyCredits", "Store", "StoreKit",
                "StoreReceipts", "StoreServer", "StoreWire",
            ],
            outside: [
                "ArgumentParser", "AsyncHTTPClient", "Configuration", "Crypto", "Logging", "NIOCore",
                "ServiceLifecycle",
                "UnixSignals", "Yams",
            ]
        ),
        "cornerstore": Row(["CornerstoreCommands"], outside: ["NIOCore", "NIOPosix"]),
        "Examples": Row(["CZlib", "MerchantClient", "PurchaseVault", "StoreKit"]),
        "cornerstore-bench": Row(
            [
                "ContentPackages", "Database", "HTTPSupport", "Merchant", "MerchantServer", "MerchantWire", "Store",
                "StoreKit",
                "StoreReceipts", "StoreServer", "StoreWire",
            ],
            outside: [
                "AsyncHTTPClient", "Crypto", "CryptoExtras", "HTTPTypes", "Hummingbird", "Logging", "NIOCore",
                "NIOHTTP1",
                "NIOPosix", "ServiceLifecycle", "X509",
            ]
        ),
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
