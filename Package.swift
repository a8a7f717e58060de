// swift-tools-version: 6.2
import PackageDescription

/// The same for every target and every kind of build: other flags would build all dependencies again.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
]

/// The packages that the libraries use, each with the modules that targets use of it.
let libraryPackages = [
    "swift-asn1": ["SwiftASN1"],
    "swift-certificates": ["X509"],
    "swift-crypto": ["Crypto", "CryptoExtras"],
]

/// The packages that only the servers, the command line and the tests use, with their modules. Without the trait,
/// SwiftPM does not resolve them.
let serverPackages = [
    "async-http-client": ["AsyncHTTPClient"],
    "hummingbird": ["Hummingbird", "HummingbirdCore", "HummingbirdTesting"],
    "jwt-kit": ["JWTKit"],
    "swift-argument-parser": ["ArgumentParser"],
    "swift-configuration": ["Configuration"],
    "swift-http-types": ["HTTPTypes"],
    "swift-log": ["Logging"],
    "swift-metrics": ["Metrics"],
    "swift-mustache": ["Mustache"],
    "swift-nio": ["NIOCore", "NIOEmbedded", "NIOFoundationCompat", "NIOHTTP1", "NIOPosix"],
    "swift-nio-extras": ["NIOHTTPTypes", "NIOHTTPTypesHTTP1"],
    "swift-service-lifecycle": ["ServiceLifecycle", "UnixSignals"],
    "swift-subprocess": ["Subprocess"],
    "swift-system": ["SystemPackage"],
    "Yams": ["Yams"],
]

let package = Package(
    name: "cornerstore",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "StoreKit", targets: ["StoreKit"]),
        .library(name: "PurchaseVault", targets: ["PurchaseVault"]),
        .library(name: "MerchantClient", targets: ["MerchantClient"]),
        .library(name: "StoreReceipts", targets: ["StoreReceipts"]),
        .library(name: "ContentPackages", targets: ["ContentPackages"]),
        .executable(name: "cornerstore", targets: ["cornerstore"]),
        .executable(name: "monkey-credits", targets: ["monkey-credits"]),
        .executable(name: "photo-filters", targets: ["photo-filters"]),
        .executable(name: "book-chapters", targets: ["book-chapters"]),
        .executable(name: "server-books", targets: ["server-books"]),
        .executable(name: "cross-promotion", targets: ["cross-promotion"]),
        .executable(name: "magazine", targets: ["magazine-command"]),
    ],
    traits: [
        .default(enabledTraits: ["Servers"]),
        .trait(
            name: "Servers",
            description: "The servers and the command line. Apps that only use the libraries leave it out."
        ),
    ],
    // No Package.resolved is committed. A dependency stays at its minor version where the code relies on more than its
    // public API; the comment says which code.
    dependencies: [
        // CommandError+Known recognizes the parser's own errors, which have no public type, by their module.
        .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.2")),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        // ChainPolicy uses `@_spi(DisableValidityCheck)`. ShortKeyLeaf relies on the least length of an RSA key.
        .package(url: "https://github.com/apple/swift-certificates", .upToNextMinor(from: "1.21.1")),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        // StoreReceipts verifies and signs with `_RSA`. Names with an underscore have no stable versions.
        .package(url: "https://github.com/apple/swift-crypto", .upToNextMinor(from: "4.5.2")),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
        // HTTPSupport: ConnectionChannel adds handlers to the pipeline that HTTP1Channel makes, and they rely on when
        // Hummingbird closes a connection. HTTPProblem reads the request's id from the logger.
        .package(url: "https://github.com/hummingbird-project/hummingbird", .upToNextMinor(from: "2.28.1")),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.0.2"),
        // YAMLHazards limits what Yams does slowly. YAMLParser passes the texts of its errors on.
        .package(url: "https://github.com/jpsim/Yams", .upToNextMinor(from: "6.2.2")),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        // The ground floor: small modules that know nothing of the columns above.
        .target(name: "CornerstoreEncoding"),
        .target(name: "StoreWire", dependencies: ["CornerstoreEncoding"]),
        .target(name: "ControlWire", dependencies: ["CornerstoreEncoding", "StoreWire"]),
        .target(
            name: "StoreReceipts",
            dependencies: ["CornerstoreEncoding", "StoreWire", "Crypto", "CryptoExtras", "SwiftASN1", "X509"]
        ),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CornerstoreCSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // Not URLSession: Swift 6.3's ends the process when a response's head is cut short, keeps what a download has
        // not written yet in memory without limit, and deadlocks when requests are cancelled. Not AsyncHTTPClient: with
        // the packages that it needs, it is most of what an app would build.
        .systemLibrary(name: "CornerstoreCCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CornerstoreHTTPClient", dependencies: ["CornerstoreCCurl"]),
        .target(name: "CornerstoreSQLite", dependencies: ["CornerstoreCSQLite"]),
        // gdlib's flags contain a definition that Swift packages refuse; its headers and library need no flags.
        .systemLibrary(name: "CGD", providers: [.apt(["libgd-dev"])]),
        .systemLibrary(name: "CBZip2", providers: [.apt(["libbz2-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "ContentPackages", dependencies: ["CLinux", "CZlib", "CornerstoreEncoding", "Crypto"]),
        .target(name: "ContentDownloads", dependencies: ["CornerstoreEncoding", "CornerstoreHTTPClient", "Crypto"]),
        .target(
            name: "BlobStorage",
            dependencies: ["CornerstoreEncoding", "AsyncHTTPClient", "Crypto", "NIOCore", "NIOPosix"]
        ),
        .target(name: "Backups", dependencies: ["BlobStorage", "Crypto", "Subprocess", "SystemPackage"]),
        .target(
            name: "ConsolePages", dependencies: ["CornerstoreEncoding", "Crypto", "Mustache"],
            resources: [.embedInCode("Files")]),
        .target(
            name: "Console",
            dependencies: [
                "ConsolePages", "ControlWire", "CornerstoreEncoding", "HTTPSupport", "MerchantWire", "ServerSupport",
                "StoreReceipts", "StoreWire", "Crypto", "HTTPTypes", "Hummingbird", "Logging", "NIOCore",
                "ServiceLifecycle",
            ]
        ),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "Database",
            dependencies: ["CPostgreSQL", "CornerstoreEncoding", "CornerstoreSQLite", "Crypto", "Logging"]
        ),
        .target(name: "ServerSupport"),
        .target(
            name: "HTTPSupport",
            dependencies: [
                "CZlib", "CornerstoreEncoding", "HTTPTypes", "Hummingbird", "HummingbirdCore", "Logging", "Metrics",
                "NIOCore", "NIOHTTP1", "NIOHTTPTypes", "NIOHTTPTypesHTTP1",
            ]
        ),

        // The app's column.
        .target(
            name: "StoreKit",
            dependencies: [
                "ContentDownloads", "ContentPackages", "CornerstoreEncoding", "CornerstoreHTTPClient",
                "CornerstoreSQLite", "StoreReceipts", "StoreWire", "Crypto",
            ]
        ),
        .target(
            name: "PurchaseVault",
            dependencies: ["CornerstoreEncoding", "StoreKit", "StoreReceipts", "StoreWire", "Crypto"]
        ),
        .target(
            name: "MerchantClient",
            dependencies: [
                "ContentDownloads", "CornerstoreEncoding", "CornerstoreHTTPClient", "MerchantWire", "StoreKit",
                "StoreWire", "Crypto",
            ]
        ),
        .target(
            name: "DeviceScreen",
            dependencies: [
                "ConsolePages", "ControlWire", "CornerstoreEncoding", "CornerstoreHTTPClient", "HTTPSupport",
                "StoreKit", "StoreReceipts", "StoreWire", "HTTPTypes", "Hummingbird", "Logging", "NIOCore",
                "ServiceLifecycle",
            ]
        ),
        .target(name: "SampleTerminal", path: "Examples/SampleTerminal"),
        .target(
            name: "MonkeyCredits",
            dependencies: ["ConsolePages", "DeviceScreen", "PurchaseVault", "SampleTerminal", "StoreKit"],
            path: "Examples/MonkeyCredits", exclude: ["MonkeyCredits.storekit"]
        ),
        .executableTarget(
            name: "monkey-credits", dependencies: ["MonkeyCredits"],
            path: "Examples/monkey-credits-command"
        ),
        .target(
            name: "PhotoFilters",
            dependencies: ["ConsolePages", "CZlib", "DeviceScreen", "PurchaseVault", "SampleTerminal", "StoreKit"],
            path: "Examples/PhotoFilters", exclude: ["PhotoFilters.storekit"]
        ),
        .executableTarget(
            name: "photo-filters", dependencies: ["PhotoFilters"],
            path: "Examples/photo-filters-command"
        ),
        .target(
            name: "BookChapters",
            dependencies: ["ConsolePages", "DeviceScreen", "PhotoFilters", "SampleTerminal", "StoreKit"],
            path: "Examples/BookChapters", exclude: ["BookChapters.yaml", "Content"]
        ),
        .executableTarget(
            name: "book-chapters", dependencies: ["BookChapters"],
            path: "Examples/book-chapters-command"
        ),
        .target(
            name: "ServerBooks",
            dependencies: ["ConsolePages", "DeviceScreen", "MerchantClient", "SampleTerminal", "StoreKit"],
            path: "Examples/ServerBooks", exclude: ["Merchant.yaml", "Issues", "ServerBooks.yaml"]
        ),
        .executableTarget(name: "server-books", dependencies: ["ServerBooks"], path: "Examples/server-books-command"),
        .target(
            name: "CrossPromotion",
            dependencies: ["ConsolePages", "DeviceScreen", "SampleTerminal", "StoreKit", "AsyncHTTPClient"],
            path: "Examples/CrossPromotion", exclude: ["CrossPromotion.yaml"]
        ),
        .executableTarget(
            name: "cross-promotion", dependencies: ["CrossPromotion"],
            path: "Examples/cross-promotion-command"
        ),
        .target(
            name: "Magazine",
            dependencies: [
                "ConsolePages", "DeviceScreen", "MerchantClient", "PurchaseVault", "SampleTerminal", "StoreKit",
                "StoreReceipts",
            ],
            path: "Examples/Magazine", exclude: ["Magazine.yaml", "Merchant.yaml"]
        ),
        // Not "magazine": some file systems do not tell it from "Magazine".
        .executableTarget(name: "magazine-command", dependencies: ["Magazine"], path: "Examples/magazine-command"),

        // The store's column.
        .target(
            name: "Store",
            dependencies: [
                "BlobStorage", "CBZip2", "ContentPackages", "CornerstoreEncoding", "CornerstoreSQLite", "Database",
                "StoreReceipts", "StoreWire", "Crypto", "CryptoExtras", "Logging", "Yams",
            ]
        ),
        .target(
            name: "StoreServer",
            dependencies: [
                "Backups", "BlobStorage", "CGD", "ConsolePages", "ControlWire", "CornerstoreEncoding",
                "CornerstoreHTTPClient", "Database", "HTTPSupport", "ServerSupport", "Store", "StoreReceipts",
                "StoreWire", "Crypto", "HTTPTypes", "Hummingbird", "Logging", "Metrics", "NIOCore", "NIOPosix",
                "ServiceLifecycle", "UnixSignals",
            ]
        ),

        // The merchant's column.
        .target(name: "MerchantWire", dependencies: ["CornerstoreEncoding", "StoreWire"]),
        .target(
            name: "Merchant",
            dependencies: [
                "BlobStorage", "CornerstoreEncoding", "Database", "MerchantWire", "StoreReceipts", "StoreWire",
                "Crypto", "Logging", "Yams",
            ]
        ),
        .target(
            name: "MerchantServer",
            dependencies: [
                "Backups", "BlobStorage", "CornerstoreEncoding", "HTTPSupport", "Merchant", "MerchantWire",
                "ServerSupport", "StoreReceipts", "StoreWire", "AsyncHTTPClient", "Crypto", "HTTPTypes", "Hummingbird",
                "JWTKit", "Logging", "Metrics", "NIOCore", "ServiceLifecycle", "UnixSignals", "Yams",
            ]
        ),

        // The command line, on top of all.
        .target(
            name: "CornerstoreCommands",
            dependencies: [
                "Backups", "BlobStorage", "Console", "ConsolePages", "ContentDownloads", "ContentPackages",
                "ControlWire", "CornerstoreEncoding", "Database", "DeviceScreen", "HTTPSupport", "Merchant",
                "MerchantServer", "MerchantWire", "ServerSupport", "Store", "StoreKit", "StoreReceipts", "StoreServer",
                "StoreWire", "ArgumentParser", "AsyncHTTPClient", "Configuration", "Crypto", "Logging", "NIOCore",
                "ServiceLifecycle", "Subprocess", "SystemPackage", "UnixSignals", "Yams",
            ]
        ),
        .executableTarget(name: "cornerstore", dependencies: ["CornerstoreCommands", "NIOCore", "NIOPosix"]),
        .executableTarget(
            name: "cornerstore-bench",
            dependencies: [
                "ContentPackages", "CornerstoreHTTPClient", "Database", "Merchant", "MerchantServer", "MerchantWire",
                "Store", "StoreKit", "StoreReceipts", "StoreServer", "StoreWire", "AsyncHTTPClient", "Crypto",
                "CryptoExtras", "Hummingbird", "Logging", "NIOCore", "NIOPosix",
            ],
            path: "Benchmarks", exclude: ["Bench.storekit"]
        ),

        .testTarget(name: "CornerstoreEncodingTests", dependencies: ["CornerstoreEncoding", "TestSupport"]),
        .testTarget(name: "StoreWireTests", dependencies: ["CornerstoreEncoding", "StoreWire", "TestSupport"]),
        .testTarget(
            name: "StoreReceiptsTests",
            dependencies: [
                "CornerstoreEncoding", "StoreReceipts", "StoreWire", "TestSupport", "Crypto", "CryptoExtras",
                "SwiftASN1", "X509",
            ]
        ),
        .testTarget(name: "ContentPackagesTests", dependencies: ["CZlib", "ContentPackages", "TestSupport", "Crypto"]),
        .testTarget(
            name: "ContentDownloadsTests",
            dependencies: ["ContentDownloads", "CornerstoreEncoding", "TestSupport", "Crypto"]
        ),
        .testTarget(
            name: "BlobStorageTests",
            dependencies: ["BlobStorage", "TestSupport", "AsyncHTTPClient", "Crypto", "NIOCore"]
        ),
        .testTarget(name: "CornerstoreHTTPClientTests", dependencies: ["CornerstoreHTTPClient", "TestSupport"]),
        .testTarget(name: "CornerstoreSQLiteTests", dependencies: ["CornerstoreSQLite", "TestSupport"]),
        .testTarget(
            name: "DatabaseTests", dependencies: ["CornerstoreCSQLite", "CornerstoreSQLite", "Database", "TestSupport"]
        ),
        .testTarget(
            name: "StoreTests",
            dependencies: [
                "BlobStorage", "CornerstoreEncoding", "Database", "Store", "StoreReceipts", "StoreWire", "TestSupport",
                "Crypto",
            ]
        ),
        .testTarget(
            name: "StoreKitTests",
            dependencies: [
                "ContentDownloads", "CornerstoreEncoding", "CornerstoreSQLite", "StoreKit", "StoreReceipts",
                "StoreWire", "TestSupport", "kill-test-app", "Crypto", "Hummingbird",
            ]
        ),
        .testTarget(
            name: "HTTPSupportTests",
            dependencies: [
                "HTTPSupport", "TestSupport", "HTTPTypes", "Hummingbird", "HummingbirdCore", "Logging", "Metrics",
                "NIOCore", "NIOEmbedded", "NIOHTTP1",
            ]
        ),
        .testTarget(name: "ServerSupportTests", dependencies: ["ServerSupport", "TestSupport"]),
        .testTarget(
            name: "PurchaseVaultTests",
            dependencies: ["PurchaseVault", "StoreKit", "StoreReceipts", "StoreWire", "TestSupport"]
        ),
        .testTarget(
            name: "MerchantClientTests",
            dependencies: [
                "CornerstoreEncoding", "MerchantClient", "MerchantWire", "StoreKit", "StoreWire", "TestSupport",
                "Crypto", "HTTPTypes", "Hummingbird", "NIOCore",
            ]
        ),
        .testTarget(
            name: "ExamplesTests",
            dependencies: [
                "BookChapters", "ContentPackages", "ControlWire", "CrossPromotion", "DeviceScreen", "Magazine",
                "Merchant", "MerchantClient", "MerchantServer", "MerchantWire", "MonkeyCredits", "PhotoFilters",
                "PurchaseVault", "ServerBooks", "Store", "StoreKit", "StoreReceipts", "StoreServer", "StoreWire",
                "TestSupport", "book-chapters", "cross-promotion", "magazine-command", "monkey-credits",
                "photo-filters", "server-books",
            ]
        ),
        .testTarget(
            name: "ConsoleTests",
            dependencies: [
                "Console", "ConsolePages", "ControlWire", "CornerstoreCommands", "CornerstoreEncoding", "HTTPSupport",
                "MerchantWire", "Store", "StoreReceipts", "StoreServer", "StoreWire", "TestSupport", "ArgumentParser",
                "Hummingbird", "Crypto", "HTTPTypes", "Logging", "NIOCore", "NIOEmbedded",
            ]
        ),
        .testTarget(name: "ConsolePagesTests", dependencies: ["ConsolePages"]),
        .testTarget(
            name: "StoreServerTests",
            dependencies: [
                "BlobStorage", "ControlWire", "CornerstoreHTTPClient", "Database", "HTTPSupport", "ServerSupport",
                "Store", "StoreReceipts", "StoreServer", "StoreWire", "TestSupport", "AsyncHTTPClient", "Crypto",
                "Hummingbird", "Logging", "NIOCore", "NIOFoundationCompat", "NIOHTTP1", "NIOPosix", "ServiceLifecycle",
                "UnixSignals",
            ]
        ),
        .testTarget(
            name: "MerchantTests",
            dependencies: [
                "BlobStorage", "Database", "Merchant", "MerchantWire", "StoreReceipts", "StoreWire", "TestSupport",
                "Crypto",
            ]
        ),
        .testTarget(
            name: "MerchantServerTests",
            dependencies: [
                "Backups", "BlobStorage", "CornerstoreEncoding", "Database", "HTTPSupport", "Merchant",
                "MerchantServer", "MerchantWire", "ServerSupport", "StoreReceipts", "StoreWire", "TestSupport",
                "AsyncHTTPClient", "Crypto", "CryptoExtras", "HTTPTypes", "Hummingbird", "HummingbirdTesting",
                "JWTKit", "Logging", "NIOCore", "NIOHTTP1", "NIOPosix", "Yams",
            ]
        ),
        .testTarget(
            name: "JourneyTests",
            dependencies: [
                "BlobStorage", "ControlWire", "Database", "Merchant", "MerchantServer", "MerchantWire", "Store",
                "StoreKit", "StoreReceipts", "StoreServer", "StoreWire", "TestSupport", "Crypto",
            ]
        ),
        .testTarget(
            name: "CornerstoreCommandsTests",
            dependencies: [
                "BlobStorage", "ContentPackages", "CornerstoreCommands", "Merchant", "MerchantServer", "MerchantWire",
                "Store", "StoreKit", "StoreReceipts", "StoreServer", "StoreWire", "TestSupport", "ArgumentParser",
                "Crypto", "Logging", "NIOCore", "ServiceLifecycle",
            ]
        ),
        .testTarget(
            name: "KillTests",
            dependencies: [
                "Database", "KillTestApp", "KillTesting", "Merchant", "MerchantServer", "MerchantWire", "StoreServer",
                "StoreWire", "TestSupport", "cornerstore", "kill-test-app", "kill-test-merchant",
            ]
        ),
        .testTarget(name: "ArchitectureTests"),
        // What is killed, who kills, and `make soak`.
        .target(name: "KillTestApp", dependencies: ["StoreKit", "Crypto"], path: "Tests/KillTestApp"),
        .executableTarget(name: "kill-test-app", dependencies: ["KillTestApp"], path: "Tests/kill-test-app"),
        .executableTarget(
            name: "kill-test-merchant",
            dependencies: [
                "CornerstoreCommands", "KillTestApp", "Merchant", "MerchantServer", "StoreServer", "NIOCore",
                "NIOPosix",
            ],
            path: "Tests/kill-test-merchant"
        ),
        .target(
            name: "KillTesting",
            dependencies: [
                "KillTestApp", "Merchant", "MerchantServer", "MerchantWire", "StoreReceipts", "StoreWire",
                "TestSupport", "AsyncHTTPClient", "HTTPTypes", "Hummingbird", "NIOCore",
            ],
            path: "Tests/KillTesting"
        ),
        .executableTarget(
            name: "cornerstore-soak", dependencies: ["KillTesting", "TestSupport"],
            path: "Tests/cornerstore-soak"
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "ContentPackages", "CornerstoreEncoding", "CornerstoreSQLite", "Database", "HTTPSupport",
                "StoreReceipts", "AsyncHTTPClient", "HTTPTypes", "Hummingbird", "HummingbirdCore", "Logging", "NIOCore",
            ],
            path: "Tests/TestSupport"
        ),
    ]
)

// Targets name the modules that they use. Those of other packages become products here.
for target in package.targets where target.type != .system {
    target.swiftSettings = strict
    target.dependencies = target.dependencies.map { dependency in
        guard case .byNameItem(let module, _) = dependency else { return dependency }
        func package(in packages: [String: [String]]) -> String? { packages.first { $0.value.contains(module) }?.key }
        if let name = package(in: libraryPackages) { return .product(name: module, package: name) }
        guard let name = package(in: serverPackages) else { return dependency }
        return .product(name: module, package: name, condition: .when(traits: ["Servers"]))
    }
}
