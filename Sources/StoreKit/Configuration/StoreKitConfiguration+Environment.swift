import Foundation
import StoreWire
import Synchronization

extension StoreKitConfiguration {
    /// Reads the configuration from environment variables:
    ///
    /// | variable | what |
    /// |---|---|
    /// | `CORNERSTORE_STORE` | the store's base URL |
    /// | `CORNERSTORE_DATA` | a store's data directory on this machine: its `addresses.json` and roots are used when the above is not set |
    /// | `CORNERSTORE_ENVIRONMENT` | `sandbox` (if not set) or `production` |
    /// | `CORNERSTORE_ROOTS` | root certificates (DER files), separated by colons, or one folder of them |
    /// | `CORNERSTORE_DEVICE` | the device's folder; else `$XDG_STATE_HOME/cornerstore/device` |
    /// | `CORNERSTORE_BUNDLE_ID`, `CORNERSTORE_BUNDLE_VERSION` | the app; else an `Info.plist` beside the executable |
    /// | `CORNERSTORE_SHEET` | `terminal` (if not set), `web`, `approve` or `decline` |
    /// | `CORNERSTORE_CONTROL` | the control port of `web`; else that of `CORNERSTORE_DATA` |
    /// | `CORNERSTORE_ACCOUNT`, `CORNERSTORE_PASSWORD_FILE` | who signs in, for scripts |
    /// | `CORNERSTORE_ADMIN_TOKEN` | the control port's token, for `web`, when it wants one |
    /// | `CORNERSTORE_PAYMENTS` | `on` (if not set), or `off`: restricts the device |
    /// | `CORNERSTORE_PURCHASE_INTENT` | a link to a promoted product that opened the app |
    /// | `CORNERSTORE_LOG` | `1` writes diagnostics to standard error |
    ///
    /// Nothing here throws or traps. A variable with a value that it does not take is never replaced by a guess: a line on
    /// standard error names the variable and the values that it takes, and the configuration has no store, so that every
    /// request fails with "Cannot connect". Standard error also says when no store or no bundle identifier is known, and
    /// when a receipt is not taken, for which a paid purchase waits. ``diagnostics`` are told of everything else that
    /// cannot be read.
    public init(environment variables: [String: String], executable: URL?) {
        self.init(environment: variables, executable: executable, say: Self.writeToStandardError)
    }

    /// The same; lines for standard error go to `say`.
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
        // Each retry meets the same.
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
        languages = Self.languages(variables)
        purchaseIntent = value("CORNERSTORE_PURCHASE_INTENT").flatMap(URL.init(string:))
        allowsPayments = value("CORNERSTORE_PAYMENTS")?.lowercased() != "off"
    }

    /// The control port's web pages; their addresses are said on standard error. Nil when no control port is known.
    private static func webSheet(
        _ variables: [String: String], _ data: URL?, _ say: @escaping @Sendable (String) -> Void
    ) -> (any PaymentSheet)? {
        let known = data.flatMap { BoundedFile.read($0.appendingPathComponent("addresses.json"), limit: 1 << 16) }
            .flatMap { try? JSONDecoder().decode([String: String].self, from: $0) }?["control"]
        guard let text = variables["CORNERSTORE_CONTROL"].flatMap({ $0.isEmpty ? nil : $0 }) ?? known,
            let control = URL(string: text), ["http", "https"].contains(control.scheme ?? "")
        else { return nil }
        let token = variables["CORNERSTORE_ADMIN_TOKEN"].flatMap { $0.isEmpty ? nil : $0 }
        return WebPaymentSheet(control: control, adminToken: token, say: say) { page in
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

    /// The base URL that a running store wrote down.
    private static func address(
        of environment: StoreEnvironment, in data: URL, say: (String) -> Void
    ) -> URL? {
        let file = data.appendingPathComponent("addresses.json")
        guard let bytes = BoundedFile.read(file, limit: 1 << 16),
            let addresses = try? JSONDecoder().decode([String: String].self, from: bytes),
            let text = addresses[environment.name], let url = URL(string: text)
        else {
            say(
                "\(file.path) names no \(environment.name) store; start the store with that data directory, or correct "
                    + "CORNERSTORE_DATA")
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

    /// Certificate files, or all `.der` and `.cer` files of a folder.
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
            let password = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
            credentials = StoreCredentials(email: email, password: password)
        }
        return switch variables["CORNERSTORE_SHEET"]?.lowercased() {
        case "approve": automaticSheet(.buy, credentials, say)
        case "decline": automaticSheet(.cancel, credentials, say)
        case "web": webSheet(variables, data, say) ?? unreachableWebSheet(say)
        default: TerminalPaymentSheet(credentials: credentials)
        }
    }

    /// Answers for a script, and says why nobody can sign in: a script sees no more than a cancelled purchase.
    private static func automaticSheet(
        _ answer: PaymentSheetAnswer, _ credentials: StoreCredentials?, _ say: @escaping @Sendable (String) -> Void
    ) -> any PaymentSheet {
        AutomaticPaymentSheet(answer: answer, credentials: credentials) { prompt in
            say(
                prompt.passwordWasWrong
                    ? "the store does not take the password in CORNERSTORE_PASSWORD_FILE"
                    : "there is nobody to sign in as; set CORNERSTORE_ACCOUNT, and CORNERSTORE_PASSWORD_FILE to a file that can be read"
            )
        }
    }

    /// No purchase is made on a page that nobody can open: every one is cancelled.
    private static func unreachableWebSheet(_ say: (String) -> Void) -> any PaymentSheet {
        say(
            "CORNERSTORE_SHEET is web, and no control port is known, so that every purchase is cancelled; set "
                + "CORNERSTORE_DATA to a running store's data directory, or CORNERSTORE_CONTROL to its control port")
        return AutomaticPaymentSheet(answer: .cancel, credentials: nil)
    }
}
