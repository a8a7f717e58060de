import Foundation
import StoreWire
import Synchronization

extension StoreKitConfiguration {
    /// Reads the configuration from environment variables:
    ///
    /// | variable | meaning |
    /// |---|---|
    /// | `CORNERSTORE_STORE` | the store's base URL |
    /// | `CORNERSTORE_DATA` | a local store's data directory, for its address and roots, if the above is not set |
    /// | `CORNERSTORE_ENVIRONMENT` | `sandbox` (default) or `production` |
    /// | `CORNERSTORE_ROOTS` | root certificates (DER files), separated by colons, or one folder of them |
    /// | `CORNERSTORE_DEVICE` | the device's folder; by default `$XDG_STATE_HOME/cornerstore/device` |
    /// | `CORNERSTORE_BUNDLE_ID`, `CORNERSTORE_BUNDLE_VERSION` | the app; by default the `Info.plist` beside it |
    /// | `CORNERSTORE_SHEET` | `terminal` (default), `web`, `approve` or `decline` |
    /// | `CORNERSTORE_CONTROL` | the control port for `web`; by default that of `CORNERSTORE_DATA` |
    /// | `CORNERSTORE_ACCOUNT`, `CORNERSTORE_PASSWORD_FILE` | the account that signs in, for scripts |
    /// | `CORNERSTORE_STOREFRONT` | the storefront's base URL; by default that of `CORNERSTORE_DATA` |
    /// | `CORNERSTORE_ADMIN_TOKEN` | the control port's token, for `web`, if it requires one |
    /// | `CORNERSTORE_PAYMENTS` | `on` (default) or `off`, which forbids purchases |
    /// | `CORNERSTORE_PURCHASE_INTENT` | a link to a promoted product that opened the app |
    /// | `CORNERSTORE_LOG` | `1` writes diagnostics to standard error |
    ///
    /// The initialiser never throws or traps. If a variable has an invalid value, it writes a line with the variable
    /// and its valid values to standard error. The configuration then has no store, and every request fails with
    /// "Cannot connect". StoreKit also writes to standard error when no store or no bundle identifier is configured,
    /// when it refuses a receipt that a paid purchase needs, and when no new receipt can follow a refund.
    /// ``diagnostics`` receives all other failures.
    public init(environment variables: [String: String], executable: URL?) {
        self.init(environment: variables, executable: executable, say: Self.writeToStandardError)
    }

    /// Reads the configuration and passes the lines for standard error to `say`.
    init(environment variables: [String: String], executable: URL?, say: @escaping @Sendable (String) -> Void) {
        @Sendable func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        let diagnostics: @Sendable (String) -> Void = { line in
            if value("CORNERSTORE_LOG") == "1" { say(line) }
        }
        let problems = EnvironmentProblems(variables)
        problems.lines.forEach(say)
        let isGood = problems.lines.isEmpty
        let environment = value("CORNERSTORE_ENVIRONMENT").flatMap(StoreEnvironment.init(name:)) ?? .sandbox
        let data = value("CORNERSTORE_DATA").map { URL(fileURLWithPath: $0, isDirectory: true) }
        let info = Self.infoPlist(beside: executable)

        let named = value("CORNERSTORE_STORE").flatMap(URL.init(string:))
        var store = named
        if isGood, store == nil, let data { store = Self.address(of: environment, in: data, say: say) }
        self.init(
            store: isGood ? store : nil,
            bundleIdentifier: value("CORNERSTORE_BUNDLE_ID") ?? info["CFBundleIdentifier"] as? String,
            deviceFolder: Self.deviceFolder(variables),
            sheet: Self.sheet(variables, data: data, say: say))
        self.environment = environment
        self.diagnostics = diagnostics
        complain = say
        isMissingStoreSaid = !isGood || data != nil
        let lastAlarm = Mutex<String?>(nil)
        // Every retry fails for the same reason, so a repeated line is dropped.
        alarm = { line in
            let isNew = lastAlarm.withLock { last in
                defer { last = line }
                return last != line
            }
            if isNew { say(line) }
        }
        bundleVersion = value("CORNERSTORE_BUNDLE_VERSION") ?? info["CFBundleVersion"] as? String ?? "1"
        roots = value("CORNERSTORE_ROOTS").map(Self.roots) ?? []
        if roots.isEmpty, named == nil, let data {
            roots = Self.roots(data.appendingPathComponent("roots/receipt-root.der").path)
        }
        if isGood {
            storefront = (value("CORNERSTORE_STOREFRONT") ?? data.flatMap { Self.addresses(in: $0)["storefront"] })
                .flatMap(URL.init(string:))
        }
        switch variables["CORNERSTORE_SHEET"]?.lowercased() {
        case "web":
            presenter = WebStorePresenter { page in
                try? FileHandle.standardError.write(contentsOf: Data("See the page at \(page)\n".utf8))
            }
        case "approve": presenter = AutomaticStorePresenter(answer: .buy)
        case "decline": presenter = AutomaticStorePresenter(answer: .done)
        default: break
        }
        languages = Self.languages(variables)
        purchaseIntent = value("CORNERSTORE_PURCHASE_INTENT").flatMap(URL.init(string:))
        allowsPayments = value("CORNERSTORE_PAYMENTS")?.lowercased() != "off"
    }

    /// A sheet on the control port's web pages, whose addresses go to standard error. Nil when no control port is
    /// known.
    private static func webSheet(
        _ variables: [String: String], _ say: @escaping @Sendable (String) -> Void
    ) -> (any PaymentSheet)? {
        let operation = OperatorAddresses(environment: variables)
        guard let control = operation.control else { return nil }
        return WebPaymentSheet(control: control, adminToken: operation.adminToken, say: say) { page in
            try? FileHandle.standardError.write(contentsOf: Data("Answer at \(page.absoluteString)\n".utf8))
        }
    }

    private static func deviceFolder(_ variables: [String: String]) -> URL {
        if let path = variables["CORNERSTORE_DEVICE"], !path.isEmpty {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        let state: URL
        if let path = variables["XDG_STATE_HOME"], path.hasPrefix("/") {
            state = URL(fileURLWithPath: path, isDirectory: true)
        } else {
            let home = variables["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? NSHomeDirectory()
            state = URL(fileURLWithPath: home, isDirectory: true).appendingPathComponent(
                ".local/state", isDirectory: true)
        }
        return state.appendingPathComponent("cornerstore/device", isDirectory: true)
    }

    /// The base URLs in the `addresses.json` that a running store wrote; empty when there is none.
    fileprivate static func addresses(in data: URL) -> [String: String] {
        BoundedFile.read(data.appendingPathComponent("addresses.json"), limit: 1 << 16)
            .flatMap { try? JSONDecoder().decode([String: String].self, from: $0) } ?? [:]
    }

    /// The base URL of an environment's store in the `addresses.json` that a running store wrote.
    private static func address(
        of environment: StoreEnvironment, in data: URL, say: (String) -> Void
    ) -> URL? {
        guard let url = addresses(in: data)[environment.name].flatMap(URL.init(string:)) else {
            let file = data.appendingPathComponent("addresses.json")
            say(
                "\(file.path) has no address of a \(environment.name) store; start the store with that data directory, "
                    + "or correct CORNERSTORE_DATA")
            return nil
        }
        return url
    }

    private static func infoPlist(beside executable: URL?) -> [String: Any] {
        guard let executable,
            let bytes = BoundedFile.read(
                executable.deletingLastPathComponent().appendingPathComponent("Info.plist"), limit: 1 << 20),
            let list = try? PropertyListSerialization.propertyList(from: bytes, options: [], format: nil)
        else { return [:] }
        return list as? [String: Any] ?? [:]
    }

    /// The certificate files in a list separated by colons. A folder stands for all its `.der` and `.cer` files.
    static func roots(_ text: String) -> [URL] {
        text.split(separator: ":").flatMap { path -> [URL] in
            let url = URL(fileURLWithPath: String(path))
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: url.path) else {
                return FileManager.default.fileExists(atPath: url.path) ? [url] : []
            }
            return names.sorted().filter { $0.hasSuffix(".der") || $0.hasSuffix(".cer") }.map(
                url.appendingPathComponent)
        }
    }

    private static func languages(_ variables: [String: String]) -> [String] {
        let named = ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { variables[$0] }.first {
            !$0.isEmpty
        }
        let languages = (named ?? "en").split(separator: ":").compactMap {
            $0.split(separator: ".").first.map(String.init)
        }
        return languages.filter { $0 != "C" && $0 != "POSIX" }.prefix(8) + ["en"]
    }

    private static func sheet(
        _ variables: [String: String], data: URL?, say: @escaping @Sendable (String) -> Void
    ) -> any PaymentSheet {
        var credentials: StoreCredentials?
        if let email = variables["CORNERSTORE_ACCOUNT"], let path = variables["CORNERSTORE_PASSWORD_FILE"],
            let bytes = BoundedFile.read(URL(fileURLWithPath: path), limit: 4096)
        {
            // The first line, as with --password-file.
            let password = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).first ?? ""
            credentials = StoreCredentials(email: email, password: String(password))
        }
        return switch variables["CORNERSTORE_SHEET"]?.lowercased() {
        case "approve": automaticSheet(.buy, credentials, say)
        case "decline": automaticSheet(.cancel, credentials, say)
        case "web": webSheet(variables, say) ?? unreachableWebSheet(say)
        default: TerminalPaymentSheet(credentials: credentials)
        }
    }

    /// A sheet for scripts. It reports why it cannot sign in, because a script only sees a cancelled purchase.
    private static func automaticSheet(
        _ answer: PaymentSheetAnswer, _ credentials: StoreCredentials?, _ say: @escaping @Sendable (String) -> Void
    ) -> any PaymentSheet {
        AutomaticPaymentSheet(answer: answer, credentials: credentials) { prompt in
            say(
                prompt.passwordWasWrong
                    ? "the store refused the password in CORNERSTORE_PASSWORD_FILE"
                    : "no account to sign in with; set CORNERSTORE_ACCOUNT, and CORNERSTORE_PASSWORD_FILE "
                        + "to a readable file"
            )
        }
    }

    /// A sheet that cancels every purchase, because no control port can show a page.
    private static func unreachableWebSheet(_ say: (String) -> Void) -> any PaymentSheet {
        say(
            "CORNERSTORE_SHEET is web, but no control port is known. Every purchase is cancelled; set "
                + "CORNERSTORE_DATA to a running store's data directory, or CORNERSTORE_CONTROL to its control port")
        return AutomaticPaymentSheet(answer: .cancel, credentials: nil)
    }
}

/// The addresses of a store's operator, which environment variables name: for programs that lead people to its pages.
package struct OperatorAddresses: Sendable {
    /// The control port's base URL: `CORNERSTORE_CONTROL`, or that of the store in `CORNERSTORE_DATA`.
    package var control: URL?
    /// The control port's token, `CORNERSTORE_ADMIN_TOKEN`.
    package var adminToken: String?
    /// The console's base URL, of the store in `CORNERSTORE_DATA`.
    package var console: URL?

    /// Reads the variables. Addresses that are not `http` or `https` are left out.
    package init(environment variables: [String: String]) {
        func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        func address(_ text: String?) -> URL? {
            text.flatMap(URL.init(string:)).flatMap { ["http", "https"].contains($0.scheme ?? "") ? $0 : nil }
        }
        let known = value("CORNERSTORE_DATA").map {
            StoreKitConfiguration.addresses(in: URL(fileURLWithPath: $0, isDirectory: true))
        }
        control = address(value("CORNERSTORE_CONTROL") ?? known?["control"])
        adminToken = value("CORNERSTORE_ADMIN_TOKEN")
        console = address(known?["console"])
    }
}
