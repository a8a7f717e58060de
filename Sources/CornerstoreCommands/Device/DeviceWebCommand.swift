import ArgumentParser
import ControlWire
import DeviceScreen
import Foundation
import StoreKit
import StoreWire

/// `cornerstore device web`: the screen of a device in a browser, with an app that sells all products of a catalog.
struct DeviceWebCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Show a device's screen in a browser, for an app that does not exist yet.",
        discussion: """
            The app on the screen sells every product of the app's catalog through StoreKit, downloads hosted content and finishes the \
            transactions. The page shows the events of the payment queue, and the receipt. The payment sheet is the store's page. StoreKit \
            runs in this process.

              cornerstore device web --app com.example.app
              cornerstore device web --app com.example.app --device ./second-phone --port 8450

            The default device is the one that “cornerstore buy” uses for the account.
            """)

    /// The port of the page, unless another device has it.
    private static let usualPort = 8430

    @Option(help: "The page's port. The default is 8430, or any that is free when that one is taken.")
    var port: Int?
    @OptionGroup var options: DeviceOptions

    func validate() throws {
        guard port.map({ (0...65_535).contains($0) }) ?? true else {
            throw ValidationError("--port must be a number from 0 to 65535.")
        }
    }

    func run() async throws {
        let device = try await options.shellDevice(of: try options.email(), mustExist: false)
        let client = try options.data.client()
        let code = try await Self.show(device, client, options.data, port)
        if code != 0 { throw ExitCode(code) }
    }

    @MainActor
    private static func show(
        _ device: ShellDevice, _ client: ControlClient, _ data: DataOptions, _ port: Int?
    ) async throws -> Int32 {
        var configuration = StoreKitConfiguration(
            store: URL(string: device.store), bundleIdentifier: device.bundleID, deviceFolder: device.folder,
            sheet: ProgrammedPaymentSheet(confirm: { _ in .cancel }, signIn: { _ in nil }))
        configuration.environment = device.environment
        configuration.bundleVersion = device.bundleVersion
        configuration.roots = [device.root]
        var variables = Console.current.environment
        variables["CORNERSTORE_DATA"] = data.directory.path
        variables["CORNERSTORE_CONTROL"] = client.base
        variables["CORNERSTORE_ADMIN_TOKEN"] = client.adminToken
        let screen = try await DeviceScreen.open(
            named: "device", port: port, usualPort: usualPort, &configuration, environment: variables)
        try StoreKitConfiguration.use(configuration)
        let app = ShellApp(bundleID: device.bundleID, client: client, screen: screen)
        app.open()
        return await screen.run(app)
    }
}

/// `cornerstore device screens`: lists the apps that run on pages.
struct DeviceScreensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "screens", abstract: "List the apps that run on a page in a browser now.")

    @OptionGroup var control: ControlOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let screens: [ControlAPI.Screen] = try await control.client().send(.screens)
        try Console.current.report(screens, json: output.json) { style in
            guard !screens.isEmpty else {
                return "No app runs on a page. Start one with “cornerstore device web --app BUNDLE-ID”."
            }
            return Table(
                heading: ["app", "environment", "page", "device"],
                rows: screens.map {
                    [Style.printable($0.name), $0.environment, $0.address, Style.printable($0.device)]
                }
            ).text(style)
        }
    }
}
