// swift-tools-version: 6.2
import PackageDescription

/// The same for every target and every kind of build: other flags would build all dependencies again.
let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
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
        .target(name: "CornerstoreEncoding", swiftSettings: strict),
        .target(name: "StoreWire", dependencies: ["CornerstoreEncoding"], swiftSettings: strict),
        .target(name: "ControlWire", dependencies: ["CornerstoreEncoding", "StoreWire"], swiftSettings: strict),
        .target(
            name: "StoreReceipts",
            dependencies: [
                "CornerstoreEncoding", "StoreWire",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: strict
        ),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CornerstoreCSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // Not URLSession: Swift 6.3's ends the process when a response's head is cut short, keeps what a download has
        // not written yet in memory without limit, and deadlocks when requests are cancelled. Not AsyncHTTPClient: with
        // the packages that it needs, it is most of what an app would build.
        .systemLibrary(name: "CornerstoreCCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CornerstoreHTTPClient", dependencies: ["CornerstoreCCurl"], swiftSettings: strict),
        .target(name: "CornerstoreSQLite", dependencies: ["CornerstoreCSQLite"], swiftSettings: strict),
        // gdlib's flags contain a definition that Swift packages refuse; its headers and library need no flags.
        .systemLibrary(name: "CGD", providers: [.apt(["libgd-dev"])]),
        .systemLibrary(name: "CBZip2", providers: [.apt(["libbz2-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .target(
            name: "ContentPackages",
            dependencies: [
                "CLinux", "CZlib", "CornerstoreEncoding", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "ContentDownloads",
            dependencies: [
                "CornerstoreEncoding", "CornerstoreHTTPClient",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "BlobStorage",
            dependencies: [
                "CornerstoreEncoding",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Backups",
            dependencies: [
                "BlobStorage",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "ConsolePages",
            dependencies: [
                "CornerstoreEncoding",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Mustache", package: "swift-mustache"),
            ],
            resources: [.embedInCode("Files")],
            swiftSettings: strict
        ),
        .target(
            name: "Console",
            dependencies: [
                "ConsolePages",
                "ControlWire",
                "CornerstoreEncoding",
                "HTTPSupport",
                "MerchantWire",
                "ServerSupport",
                "StoreReceipts",
                "StoreWire",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "Database",
            dependencies: [
                "CPostgreSQL", "CornerstoreEncoding", "CornerstoreSQLite",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(name: "ServerSupport", swiftSettings: strict),
        .target(
            name: "HTTPSupport",
            dependencies: [
                "CZlib", "CornerstoreEncoding",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
            ],
            swiftSettings: strict
        ),

        // The app's column.
        .target(
            name: "StoreKit",
            dependencies: [
                "ContentDownloads",
                "ContentPackages",
                "CornerstoreEncoding",
                "CornerstoreHTTPClient",
                "CornerstoreSQLite",
                "StoreReceipts",
                "StoreWire",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "PurchaseVault",
            dependencies: [
                "CornerstoreEncoding",
                "StoreKit",
                "StoreReceipts",
                "StoreWire",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "MerchantClient",
            dependencies: [
                "ContentDownloads",
                "CornerstoreEncoding",
                "CornerstoreHTTPClient",
                "MerchantWire",
                "StoreKit",
                "StoreWire",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "DeviceScreen",
            dependencies: [
                "ConsolePages",
                "ControlWire",
                "CornerstoreEncoding",
                "CornerstoreHTTPClient",
                "HTTPSupport",
                "StoreKit",
                "StoreReceipts",
                "StoreWire",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(name: "SampleTerminal", path: "Examples/SampleTerminal", swiftSettings: strict),
        .target(
            name: "MonkeyCredits",
            dependencies: ["ConsolePages", "DeviceScreen", "PurchaseVault", "SampleTerminal", "StoreKit"],
            path: "Examples/MonkeyCredits",
            exclude: ["MonkeyCredits.storekit"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "monkey-credits", dependencies: ["MonkeyCredits"], path: "Examples/monkey-credits-command",
            swiftSettings: strict
        ),
        .target(
            name: "PhotoFilters",
            dependencies: ["ConsolePages", "CZlib", "DeviceScreen", "PurchaseVault", "SampleTerminal", "StoreKit"],
            path: "Examples/PhotoFilters",
            exclude: ["PhotoFilters.storekit"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "photo-filters", dependencies: ["PhotoFilters"], path: "Examples/photo-filters-command",
            swiftSettings: strict
        ),
        .target(
            name: "BookChapters",
            dependencies: ["ConsolePages", "DeviceScreen", "PhotoFilters", "SampleTerminal", "StoreKit"],
            path: "Examples/BookChapters",
            exclude: ["BookChapters.yaml", "Content"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "book-chapters", dependencies: ["BookChapters"], path: "Examples/book-chapters-command",
            swiftSettings: strict
        ),
        .target(
            name: "ServerBooks",
            dependencies: ["ConsolePages", "DeviceScreen", "MerchantClient", "SampleTerminal", "StoreKit"],
            path: "Examples/ServerBooks",
            exclude: ["Merchant.yaml", "Issues", "ServerBooks.yaml"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "server-books", dependencies: ["ServerBooks"], path: "Examples/server-books-command",
            swiftSettings: strict
        ),
        .target(
            name: "CrossPromotion",
            dependencies: [
                "ConsolePages", "DeviceScreen", "SampleTerminal", "StoreKit",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            path: "Examples/CrossPromotion",
            exclude: ["CrossPromotion.yaml"],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "cross-promotion", dependencies: ["CrossPromotion"], path: "Examples/cross-promotion-command",
            swiftSettings: strict
        ),
        .target(
            name: "Magazine",
            dependencies: [
                "ConsolePages", "DeviceScreen", "MerchantClient", "PurchaseVault", "SampleTerminal", "StoreKit",
                "StoreReceipts",
            ],
            path: "Examples/Magazine",
            exclude: ["Magazine.yaml", "Merchant.yaml"],
            swiftSettings: strict
        ),
        // Not "magazine": some file systems do not tell it from "Magazine".
        .executableTarget(
            name: "magazine-command", dependencies: ["Magazine"], path: "Examples/magazine-command",
            swiftSettings: strict
        ),

        // The store's column.
        .target(
            name: "Store",
            dependencies: [
                "BlobStorage",
                "CBZip2",
                "ContentPackages",
                "CornerstoreEncoding",
                "CornerstoreSQLite",
                "Database",
                "StoreReceipts",
                "StoreWire",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "StoreServer",
            dependencies: [
                "Backups",
                "BlobStorage",
                "CGD",
                "ConsolePages",
                "ControlWire",
                "CornerstoreEncoding",
                "CornerstoreHTTPClient",
                "Database",
                "HTTPSupport",
                "ServerSupport",
                "Store",
                "StoreReceipts",
                "StoreWire",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),

        // The merchant's column.
        .target(
            name: "MerchantWire", dependencies: ["CornerstoreEncoding", "StoreWire"], swiftSettings: strict),
        .target(
            name: "Merchant",
            dependencies: [
                "BlobStorage",
                "CornerstoreEncoding",
                "Database",
                "MerchantWire",
                "StoreReceipts",
                "StoreWire",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "MerchantServer",
            dependencies: [
                "Backups",
                "BlobStorage",
                "CornerstoreEncoding",
                "HTTPSupport",
                "Merchant",
                "MerchantWire",
                "ServerSupport",
                "StoreReceipts",
                "StoreWire",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict
        ),

        // The command line, on top of all.
        .target(
            name: "CornerstoreCommands",
            dependencies: [
                "Backups",
                "BlobStorage",
                "Console",
                "ConsolePages",
                "ContentDownloads",
                "ContentPackages",
                "ControlWire",
                "CornerstoreEncoding",
                "Database",
                "DeviceScreen",
                "HTTPSupport",
                "Merchant",
                "MerchantServer",
                "MerchantWire",
                "ServerSupport",
                "Store",
                "StoreKit",
                "StoreReceipts",
                "StoreServer",
                "StoreWire",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "cornerstore",
            dependencies: [
                "CornerstoreCommands",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "cornerstore-bench",
            dependencies: [
                "ContentPackages",
                "CornerstoreHTTPClient",
                "Database",
                "Merchant",
                "MerchantServer",
                "MerchantWire",
                "Store",
                "StoreKit",
                "StoreReceipts",
                "StoreServer",
                "StoreWire",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Benchmarks",
            exclude: ["Bench.storekit"],
            swiftSettings: strict
        ),

        .testTarget(
            name: "CornerstoreEncodingTests", dependencies: ["CornerstoreEncoding", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StoreWireTests", dependencies: ["CornerstoreEncoding", "StoreWire", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StoreReceiptsTests",
            dependencies: [
                "CornerstoreEncoding", "StoreReceipts", "StoreWire", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ContentPackagesTests",
            dependencies: [
                "CZlib", "ContentPackages", "TestSupport", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ContentDownloadsTests",
            dependencies: [
                "ContentDownloads", "CornerstoreEncoding", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "BlobStorageTests",
            dependencies: [
                "BlobStorage", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CornerstoreHTTPClientTests", dependencies: ["CornerstoreHTTPClient", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CornerstoreSQLiteTests", dependencies: ["CornerstoreSQLite", "TestSupport"], swiftSettings: strict
        ),
        .testTarget(
            name: "DatabaseTests",
            dependencies: ["CornerstoreCSQLite", "CornerstoreSQLite", "Database", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StoreTests",
            dependencies: [
                "BlobStorage", "CornerstoreEncoding", "Database", "Store", "StoreReceipts", "StoreWire",
                "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "StoreKitTests",
            dependencies: [
                "ContentDownloads", "CornerstoreEncoding", "CornerstoreSQLite", "StoreKit", "StoreReceipts",
                "StoreWire", "TestSupport", "kill-test-app",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPSupportTests",
            dependencies: [
                "HTTPSupport", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ServerSupportTests", dependencies: ["ServerSupport", "TestSupport"], swiftSettings: strict
        ),
        .testTarget(
            name: "PurchaseVaultTests",
            dependencies: ["PurchaseVault", "StoreKit", "StoreReceipts", "StoreWire", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MerchantClientTests",
            dependencies: [
                "CornerstoreEncoding", "MerchantClient", "MerchantWire", "StoreKit", "StoreWire", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ExamplesTests",
            dependencies: [
                "BookChapters", "ContentPackages", "ControlWire", "CrossPromotion", "DeviceScreen", "Magazine",
                "Merchant", "MerchantClient",
                "MerchantServer", "MerchantWire", "MonkeyCredits", "PhotoFilters", "PurchaseVault", "ServerBooks",
                "Store", "StoreKit", "StoreReceipts", "StoreServer", "StoreWire", "TestSupport", "book-chapters",
                "cross-promotion", "magazine-command", "monkey-credits", "photo-filters", "server-books",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ConsoleTests",
            dependencies: [
                "Console", "ConsolePages", "ControlWire", "CornerstoreCommands", "CornerstoreEncoding", "HTTPSupport",
                "MerchantWire", "Store", "StoreReceipts", "StoreServer", "StoreWire", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "ConsolePagesTests", dependencies: ["ConsolePages"], swiftSettings: strict),
        .testTarget(
            name: "StoreServerTests",
            dependencies: [
                "BlobStorage", "ControlWire", "CornerstoreHTTPClient", "Database", "HTTPSupport", "ServerSupport",
                "Store", "StoreReceipts", "StoreServer", "StoreWire", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MerchantTests",
            dependencies: [
                "BlobStorage", "Database", "Merchant", "MerchantWire", "StoreReceipts", "StoreWire", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MerchantServerTests",
            dependencies: [
                "BlobStorage", "CornerstoreEncoding", "Database", "HTTPSupport", "Merchant", "MerchantServer",
                "MerchantWire", "ServerSupport", "StoreReceipts", "StoreWire", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "JourneyTests",
            dependencies: [
                "BlobStorage", "ControlWire", "Database", "Merchant", "MerchantServer", "MerchantWire", "Store",
                "StoreKit", "StoreReceipts", "StoreServer", "StoreWire", "TestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "CornerstoreCommandsTests",
            dependencies: [
                "BlobStorage", "ContentPackages", "CornerstoreCommands", "Merchant", "MerchantServer", "MerchantWire",
                "Store", "StoreKit", "StoreReceipts", "StoreServer", "StoreWire", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "KillTests",
            dependencies: [
                "Database", "KillTestApp", "KillTesting", "Merchant", "MerchantServer", "MerchantWire", "StoreServer",
                "StoreWire",
                "TestSupport", "cornerstore",
                "kill-test-app",
                "kill-test-merchant",
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "ArchitectureTests", swiftSettings: strict),
        // What is killed, who kills, and `make soak`.
        .target(
            name: "KillTestApp", dependencies: ["StoreKit", .product(name: "Crypto", package: "swift-crypto")],
            path: "Tests/KillTestApp", swiftSettings: strict
        ),
        .executableTarget(
            name: "kill-test-app", dependencies: ["KillTestApp"], path: "Tests/kill-test-app", swiftSettings: strict
        ),
        .executableTarget(
            name: "kill-test-merchant",
            dependencies: [
                "CornerstoreCommands", "KillTestApp", "Merchant", "MerchantServer", "StoreServer",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/kill-test-merchant", swiftSettings: strict
        ),
        .target(
            name: "KillTesting",
            dependencies: [
                "KillTestApp", "Merchant", "MerchantServer", "MerchantWire", "StoreReceipts", "StoreWire",
                "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/KillTesting",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "cornerstore-soak", dependencies: ["KillTesting", "TestSupport"], path: "Tests/cornerstore-soak",
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "ContentPackages", "CornerstoreEncoding", "CornerstoreSQLite", "Database", "HTTPSupport",
                "StoreReceipts",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),
    ]
)

/// The packages that only the servers, the command line and the tests use. Without the trait, SwiftPM does not resolve
/// them.
let serverPackages: Set = [
    "async-http-client", "hummingbird", "jwt-kit", "swift-argument-parser", "swift-configuration", "swift-http-types",
    "swift-log", "swift-metrics", "swift-mustache", "swift-nio", "swift-nio-extras", "swift-service-lifecycle",
    "swift-subprocess", "swift-system", "Yams",
]
for target in package.targets {
    target.dependencies = target.dependencies.map { dependency in
        guard case .productItem(let name, let package?, _, _) = dependency, serverPackages.contains(package) else {
            return dependency
        }
        return .product(name: name, package: package, condition: .when(traits: ["Servers"]))
    }
}
