import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreKit

@Suite("The device's folder", .timeLimit(.minutes(1)))
struct DeviceTests {
    let device: TestDevice
    init() throws { device = try TestDevice() }

    private func mode(_ url: URL) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    private func entry(_ number: Int) -> PaymentQueueEntry {
        PaymentQueueEntry(
            key: TestDevice.key(number), position: Int64(number),
            payment: PaymentValues(productIdentifier: "p\(number)"), phase: .queued)
    }

    @Test func `the device's ids are created once, and its folder is private`() throws {
        let first = try DeviceFolder(device.folder)
        let second = try DeviceFolder(device.folder)
        #expect(first.deviceID == second.deviceID)
        #expect(first.vendorIdentifier == second.vendorIdentifier)
        #expect(first.deviceID != first.vendorIdentifier)
        #expect(try mode(device.folder) == 0o700)
        #expect(try mode(first.bundleFolder(of: "com.example.monkeys")) == 0o700)
    }

    @Test func `a damaged id is an error that names the file`() throws {
        try FileManager.default.createDirectory(at: device.folder, withIntermediateDirectories: true)
        try Data("nonsense".utf8).write(to: device.folder.appendingPathComponent("device-id"))
        let error = #expect(throws: DeviceError.self) { try DeviceFolder(device.folder) }
        #expect(error?.detail.contains("device-id") == true)
    }

    @Test(arguments: ["..", "../../etc/passwd", ".hidden", "a/b", "a\0b", String(repeating: "x", count: 10_000)])
    func `no bundle id leads outside the folder`(name: String) {
        let file = DeviceFolder.fileName(name)
        #expect(!file.contains("/") && !file.hasPrefix(".") && !file.contains("\0") && file.utf8.count <= 200)
    }

    @Test func `long ids that differ only at their end have files of their own`() {
        let names = ["", "a", "b", "/"].map { DeviceFolder.fileName(String(repeating: "x", count: 254) + $0) }
        #expect(Set(names).count == 4)
        let escaped = ["a", "b"].map { DeviceFolder.fileName(String(repeating: "/", count: 90) + $0) }
        #expect(Set(escaped).count == 2 && escaped.allSatisfy { $0.utf8.count <= 200 })
    }

    @Test func `tokens are readable by the owner only, in one file for each store`() throws {
        let folder = try DeviceFolder(device.folder)
        let sandboxURL = try #require(URL(string: "http://127.0.0.1:8401"))
        let productionURL = try #require(URL(string: "http://127.0.0.1:8402"))
        let sandbox = try folder.accountFile(of: sandboxURL)
        let production = try folder.accountFile(of: productionURL)
        #expect(sandbox != production && sandbox.lastPathComponent == "http_127.0.0.1_8401.json")
        // Stores may differ in the path alone; a slash at its end makes no other store.
        let addresses = ["", "/", "/one", "/one/", "/one/two", "/one_two"].compactMap {
            URL(string: "http://127.0.0.1:8401\($0)")
        }
        let files = try addresses.map { try folder.accountFile(of: $0).lastPathComponent }
        #expect(files.count == 6 && files[0] == files[1] && files[2] == files[3] && Set(files).count == 4)
        let account = AccountDescription(
            accountID: "me", email: "me@example.com",
            storefront: StorefrontDescription(countryCode: "USA", identifier: "143441"),
            canMakePayments: true)
        try AccountTokens(file: sandbox).keep(.init(token: "secret", account: account), asCurrent: true)
        #expect(try mode(sandbox) == 0o600)
        let again = AccountTokens(file: sandbox)
        #expect(again.current?.token == "secret")
        // As earlier versions wrote it.
        let text = try String(contentsOf: sandbox, encoding: .utf8)
        try Data(text.replacing("accountId", with: "accountID").utf8).write(to: sandbox)
        #expect(AccountTokens(file: sandbox).current?.account == account)
        #expect(AccountTokens(file: production).current == nil)
        try again.drop("secret")
        #expect(AccountTokens(file: sandbox).current == nil)
    }

    @Test func `apps of one device keep each other's sign-ins`() throws {
        let file = try DeviceFolder(device.folder).accountFile(of: try #require(URL(string: "http://127.0.0.1:8401")))
        func signedIn(_ name: AccountID, _ token: String) -> AccountTokens.SignedIn {
            let storefront = StorefrontDescription(countryCode: "USA", identifier: "143441")
            return .init(
                token: token,
                account: AccountDescription(
                    accountID: name, email: "\(name.rawValue)@example.com", storefront: storefront,
                    canMakePayments: true))
        }
        let (first, second) = (AccountTokens(file: file), AccountTokens(file: file))
        try first.keep(signedIn("anna", "a1"), asCurrent: true)
        try second.keep(signedIn("ben", "b1"), asCurrent: true)
        try first.keep(signedIn("anna", "a2"), asCurrent: false)
        // Ben signed in at the other app: anna still pays in this one.
        #expect(first.current?.token == "a2" && AccountTokens(file: file).current?.token == "b1")
        // The second app has anna's older token, which the store rejects.
        #expect(second.signedIn("anna")?.token == "a1")
        try second.drop("a1")
        for tokens in [second, AccountTokens(file: file)] {
            #expect(tokens.signedIn("anna")?.token == "a2" && tokens.current?.token == "b1")
        }
        // A change that could not be saved is saved with the next one.
        let folder = file.deletingLastPathComponent()
        let aside = folder.appendingPathExtension("aside")
        try FileManager.default.moveItem(at: folder, to: aside)
        #expect(throws: DeviceError.self) { try first.keep(signedIn("carl", "c1"), asCurrent: true) }
        #expect(first.current?.token == "c1")
        try FileManager.default.moveItem(at: aside, to: folder)
        try first.drop("a2")
        let saved = AccountTokens(file: file)
        #expect(saved.current?.token == "c1" && saved.signedIn("anna") == nil && saved.signedIn("ben")?.token == "b1")
    }

    @Test func `the journal keeps entries in order, and only one process can open it`() throws {
        let folder = try DeviceFolder(device.folder).bundleFolder(of: "a.b")
        let journal = try SQLitePaymentJournal(folder: folder, name: "j") { _ in }
        try journal.save([entry(2), entry(1)], isGate: false)
        var changed = entry(2)
        changed.phase = .sending
        try journal.save([changed, entry(3)], isGate: false)
        try journal.forget([entry(3).key])
        #expect(try journal.load() == [entry(1), changed])
        let error = #expect(throws: DeviceError.self) { try SQLitePaymentJournal(folder: folder, name: "j") { _ in } }
        #expect(error?.code == .inUse)
        // Closed is closed, also while a child process that is being started has the descriptors still.
        let copies = DescriptorCopies(of: folder.appendingPathComponent("lock"))
        #expect(copies.count == 1)
        journal.close()
        let reopened = try SQLitePaymentJournal(folder: folder, name: "j") { _ in }
        #expect(try reopened.load() == [entry(1), changed])
        withExtendedLifetime(copies) {}
    }

    @Test func `a damaged journal is set aside and reported`() throws {
        let folder = try DeviceFolder(device.folder).bundleFolder(of: "a.b")
        try Data(repeating: 0x41, count: 8192).write(to: folder.appendingPathComponent("j"))
        let said = LockedList<String>()
        let journal = try SQLitePaymentJournal(folder: folder, name: "j") { said.append($0) }
        #expect(try journal.load().isEmpty)
        #expect(said.all.count == 1)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.contains { $0.contains("damaged") })
    }

    @Test func `the next start removes the files of a killed write`() throws {
        let folder = device.folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let leftover = folder.appendingPathComponent(".sandboxReceipt.\(UUID().uuidString)")
        for file in [leftover, folder.appendingPathComponent(".mine"), folder.appendingPathComponent("sandboxReceipt")]
        {
            try Data("x".utf8).write(to: file)
        }
        let journal = try SQLitePaymentJournal(folder: folder, name: "j") { _ in }
        withExtendedLifetime(journal) {
            #expect(!FileManager.default.fileExists(atPath: leftover.path))
            for name in [".mine", "sandboxReceipt"] {
                #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path))
            }
        }
    }

    @Test func `a write replaces the whole file or nothing`() throws {
        try FileManager.default.createDirectory(at: device.folder, withIntermediateDirectories: true)
        let file = device.folder.appendingPathComponent("f")
        try BoundedFile.write(Data("one".utf8), to: file)
        try BoundedFile.write(Data("two".utf8), to: file)
        #expect(BoundedFile.read(file, limit: 3) == Data("two".utf8))
        #expect(BoundedFile.read(file, limit: 2) == nil)
        #expect(BoundedFile.read(device.folder, limit: 100) == nil)
        #expect(throws: DeviceError.self) {
            try BoundedFile.write(Data(), to: device.folder.appendingPathComponent("missing/f"))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: device.folder.path) == ["f"])
    }
}

@Suite("The configuration", .timeLimit(.minutes(1)))
struct StoreKitConfigurationTests {
    let device: TestDevice
    init() throws {
        device = try TestDevice()
        try FileManager.default.createDirectory(at: device.folder, withIntermediateDirectories: true)
    }

    @Test func `without settings there is no store, and the folder is in the user's state`() {
        let configuration = StoreKitConfiguration(environment: ["HOME": "/home/m"], executable: nil)
        #expect(configuration.store == nil)
        #expect(configuration.bundleIdentifier == nil)
        #expect(configuration.deviceFolder.path == "/home/m/.local/state/cornerstore/device")
        #expect(configuration.environment == .sandbox)
        #expect(configuration.allowsPayments)
        let xdg = StoreKitConfiguration(environment: ["XDG_STATE_HOME": "/s", "HOME": "/home/m"], executable: nil)
        #expect(xdg.deviceFolder.path == "/s/cornerstore/device")
    }

    @Test func `the environment sets everything`() {
        let configuration = StoreKitConfiguration(
            environment: [
                "CORNERSTORE_STORE": "http://127.0.0.1:8402", "CORNERSTORE_ENVIRONMENT": "production",
                "CORNERSTORE_DEVICE": "/d", "CORNERSTORE_BUNDLE_ID": "a.b", "CORNERSTORE_BUNDLE_VERSION": "7",
                "CORNERSTORE_PAYMENTS": "off", "CORNERSTORE_SHEET": "decline", "LANG": "pt_PT.UTF-8",
            ], executable: nil)
        #expect(configuration.store?.absoluteString == "http://127.0.0.1:8402")
        #expect(configuration.environment == .production)
        #expect(configuration.deviceFolder.path == "/d")
        #expect(configuration.bundleIdentifier == "a.b")
        #expect(configuration.bundleVersion == "7")
        #expect(!configuration.allowsPayments)
        #expect(configuration.sheet is AutomaticPaymentSheet)
        #expect(configuration.languages == ["pt_PT", "en"])
    }

    @Test(arguments: [
        ("CORNERSTORE_ENVIRONMENT", "prod", "sandbox or production"),
        ("CORNERSTORE_SHEET", "aprove", "terminal, web, approve or decline"),
        ("CORNERSTORE_PAYMENTS", "no", "on or off"),
        ("CORNERSTORE_STORE", "127.0.0.1:8401", "http://127.0.0.1:8401"),
        ("CORNERSTORE_STORE", "http://", "http://127.0.0.1:8401"),
        ("CORNERSTORE_CONTROL", "here", "http://127.0.0.1:8400"),
        ("CORNERSTORE_STOREFRONT", "shop", "http://127.0.0.1:8403"),
    ])
    func `a misspelt variable is reported, and no store is guessed`(name: String, value: String, taken: String)
        async throws
    {
        try Data(#"{"sandbox":"http://127.0.0.1:1","production":"http://127.0.0.1:2"}"#.utf8).write(
            to: device.folder.appendingPathComponent("addresses.json"))
        var variables = [
            "CORNERSTORE_DATA": device.folder.path, "CORNERSTORE_BUNDLE_ID": "a.b",
            "CORNERSTORE_DEVICE": device.folder.path,
        ]
        #expect(StoreKitConfiguration(environment: variables, executable: nil).store != nil)
        variables[name] = value
        let said = LockedList<String>()
        let configuration = StoreKitConfiguration(environment: variables, executable: nil) { said.append($0) }
        #expect(configuration.store == nil)
        let line = try #require(said.all.first)
        #expect(said.all.count == 1)
        #expect(line.contains(name) && line.contains("“\(value)”") && line.contains(taken))
        let engine = device.launch(configuration)
        let failure = await engine.products(["credits5"])
        guard case .failure(let error) = failure else {
            Issue.record("\(failure)")
            return
        }
        #expect(error.localizedDescription == "Cannot connect to iTunes Store")
        await engine.stop()
    }

    /// The variables, and a text of each line that is said.
    static let missing: [([String: String], [String])] = [
        ([:], ["CORNERSTORE_DATA", "CORNERSTORE_BUNDLE_ID"]),
        (["CORNERSTORE_STORE": "http://127.0.0.1:1"], ["CORNERSTORE_BUNDLE_ID"]),
        (["CORNERSTORE_BUNDLE_ID": "a.b"], ["CORNERSTORE_STORE"]),
        (["CORNERSTORE_BUNDLE_ID": "a.b", "CORNERSTORE_DATA": "/none"], ["/none/addresses.json"]),
        (
            ["CORNERSTORE_BUNDLE_ID": "a.b", "CORNERSTORE_STORE": "http://127.0.0.1:1", "CORNERSTORE_ROOTS": "/none"],
            ["CORNERSTORE_ROOTS"]
        ),
        (
            [
                "CORNERSTORE_BUNDLE_ID": "a.b", "CORNERSTORE_STORE": "http://127.0.0.1:1",
                "CORNERSTORE_DEVICE": "/dev/null/device",
            ], ["/dev/null/device"]
        ),
    ]

    @Test(arguments: missing)
    func `missing settings are reported once each, without CORNERSTORE_LOG`(
        variables: [String: String], texts: [String]
    ) async throws {
        let said = LockedList<String>()
        let folder = ["CORNERSTORE_DEVICE": device.folder.path]
        let engine = device.launch(
            StoreKitConfiguration(environment: folder.merging(variables) { $1 }, executable: nil) { said.append($0) })
        #expect(said.all.count == texts.count, "\(said.all)")
        for (line, text) in zip(said.all, texts) { #expect(line.contains(text)) }
        guard case .failure = await engine.products(["credits5"]) else {
            Issue.record("there were products")
            return
        }
        await engine.stop()
    }

    @Test func `problems of a program's own configuration are reported too`() async {
        let said = LockedList<String>()
        var configuration = device.configuration()
        configuration.bundleIdentifier = nil
        configuration.diagnostics = { said.append($0) }
        let engine = device.launch(configuration)
        #expect(said.all.count == 1 && said.all.first?.contains("CORNERSTORE_BUNDLE_ID") == true)
        await engine.stop()
    }

    @Test func `an app that the store does not know is a problem of the configuration`() async {
        let said = LockedList<String>()
        var configuration = device.configuration()
        configuration.complain = { said.append($0) }
        let engine = device.launch(configuration)
        for (code, lines) in [(WireError.Code.unavailable, 0), (.unknownApp, 1)] {
            device.store.failNext("products", .refusal(404, WireError(code: code, message: "No such app.")))
            guard case .failure = await engine.products(["credits5"]) else {
                Issue.record("there were products")
                return
            }
            #expect(said.all.count == lines, "\(said.all)")
        }
        #expect(said.all.first?.hasSuffix("No such app.") == true)
        await engine.stop()
    }

    @Test func `a script gets the reason for a missing sign-in`() async throws {
        let said = LockedList<String>()
        let password = device.folder.appendingPathComponent("password")
        try Data("bananas\n".utf8).write(to: password)
        var variables = ["CORNERSTORE_SHEET": "approve"]
        func sheet() -> any PaymentSheet {
            StoreKitConfiguration(environment: variables, executable: nil) { said.append($0) }.sheet
        }
        #expect(await sheet().signIn(SignInPrompt(email: nil, passwordWasWrong: false)) == nil)
        #expect(said.all.count == 1 && said.all.last?.contains("CORNERSTORE_ACCOUNT") == true)
        variables["CORNERSTORE_ACCOUNT"] = "monkey@example.com"
        variables["CORNERSTORE_PASSWORD_FILE"] = password.path
        #expect(await sheet().signIn(SignInPrompt(email: nil, passwordWasWrong: false)) != nil)
        #expect(said.all.count == 1)
        #expect(await sheet().signIn(SignInPrompt(email: nil, passwordWasWrong: true)) == nil)
        #expect(said.all.count == 2 && said.all.last?.contains("bananas") == false)
    }

    @Test func `a web sheet without a control port cancels, and says why`() async throws {
        let said = LockedList<String>()
        let variables = ["CORNERSTORE_STORE": "http://127.0.0.1:1", "CORNERSTORE_SHEET": "web"]
        let configuration = StoreKitConfiguration(environment: variables, executable: nil) { said.append($0) }
        #expect(configuration.store != nil && configuration.sheet is AutomaticPaymentSheet)
        #expect(said.all.count == 1 && said.all.first?.contains("CORNERSTORE_CONTROL") == true)
    }

    @Test func `a data directory's addresses and roots are found, and a bad one does not crash`() throws {
        let file = device.folder.appendingPathComponent("addresses.json")
        try Data(
            #"{"sandbox":"http://127.0.0.1:1","production":"http://127.0.0.1:2","storefront":"http://127.0.0.1:3"}"#
                .utf8
        ).write(to: file)
        let roots = device.folder.appendingPathComponent("roots")
        try FileManager.default.createDirectory(at: roots, withIntermediateDirectories: true)
        try Data([1]).write(to: roots.appendingPathComponent("receipt-root.der"))
        var environment = ["CORNERSTORE_DATA": device.folder.path]
        var configuration = StoreKitConfiguration(environment: environment, executable: nil)
        #expect(configuration.store?.port == 1 && configuration.storefront?.port == 3)
        environment["CORNERSTORE_STOREFRONT"] = "http://127.0.0.1:4"
        #expect(StoreKitConfiguration(environment: environment, executable: nil).storefront?.port == 4)
        #expect(configuration.roots.map(\.lastPathComponent) == ["receipt-root.der"])
        environment["CORNERSTORE_ENVIRONMENT"] = "production"
        configuration = StoreKitConfiguration(environment: environment, executable: nil)
        #expect(configuration.store?.port == 2)
        for bad in ["", "[", #"{"production":7}"#, String(repeating: "[", count: 60_000)] {
            try Data(bad.utf8).write(to: file)
            #expect(StoreKitConfiguration(environment: environment, executable: nil).store == nil)
        }
    }

    @Test func `an Info.plist beside the executable names the app`() throws {
        let plist = try PropertyListSerialization.data(
            fromPropertyList: ["CFBundleIdentifier": "x.y", "CFBundleVersion": "42"], format: .xml, options: 0)
        try plist.write(to: device.folder.appendingPathComponent("Info.plist"))
        let configuration = StoreKitConfiguration(
            environment: [:], executable: device.folder.appendingPathComponent("app"))
        #expect(configuration.bundleIdentifier == "x.y")
        #expect(configuration.bundleVersion == "42")
    }

    @Test func `no description contains a password`() {
        let credentials = StoreCredentials(email: "e", password: "hunter2")
        var dumped = ""
        dump(credentials, to: &dumped)
        #expect(!"\(credentials) \(String(reflecting: credentials)) \(dumped)".contains("hunter2"))
    }

    @Test func `control characters do not reach the terminal`() {
        #expect(TerminalPaymentSheet.printable("a\u{1B}[2Jb\u{202E}c\n") == "a[2Jbc")
    }
}
