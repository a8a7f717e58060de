import ArgumentParser
import Foundation
import StoreKit
import StoreServer

/// `cornerstore device`: changes the restrictions of a device, and shows devices' screens.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Show a device's screen in a browser, and allow or forbid purchases on a device.",
        discussion: """
            “device web” runs an app that sells every product of a catalog, on a page for browsers of this machine. “device screens” lists \
            the apps that run on such pages now.

            “device payments” works as parental controls do. When purchases are forbidden, canMakePayments() returns false and payments fail with paymentNotAllowed. Apps can still load prices. \
            Running apps apply the change at their next purchase.

            The default device is the one that “cornerstore buy” uses for the account. An account other than the tester has a device after its \
            first buy or restore. With --device, give the folder of a device that an app created.

              cornerstore device web --app com.example.app
              cornerstore device screens
              cornerstore device payments off
              cornerstore device payments on --account anna@example.com
              cornerstore device payments off --device ~/.local/state/cornerstore/device
            """,
        subcommands: [DeviceWebCommand.self, DeviceScreensCommand.self, Payments.self])

    struct Payments: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Allow or forbid purchases.")
        @Argument(help: "Whether purchases are allowed on the device.")
        var state: AccountCommand.Switch
        @Option(
            help: ArgumentHelp(
                "The account whose device to change. The default is the sandbox tester.", valueName: "email"))
        var account: String?
        @Option(help: ArgumentHelp("The device's folder.", valueName: "dir"), completion: .directory)
        var device: String?
        @OptionGroup var data: DataOptions
        @OptionGroup var output: OutputOptions

        private struct Report: Codable {
            var device: String
            var allowsPayments: Bool
        }

        func run() async throws {
            let folder = try folder().standardizedFileURL
            do {
                try DeviceRestrictions(allowsPayments: state.isOn).write(deviceFolder: folder)
            } catch {
                throw CommandError(.failed, "Cannot write to \(folder.path): \(error)")
            }
            let report = Report(device: folder.path, allowsPayments: state.isOn)
            try Console.current.report(report, json: output.json) { _ in
                "Purchases are \(state.isOn ? "allowed" : "forbidden") on \(folder.path)."
            }
        }

        private func folder() throws -> URL {
            if let device { return try DevicePlace.existing(device) }
            // The tester always exists, so its device may be created here. Another address may be misspelt, so its
            // device must already exist.
            if let account {
                let folder = BuyCommand.deviceFolder(of: account, in: data.directory)
                guard DevicePlace.isDevice(folder) else { throw DevicePlace.missing(of: account, in: data.directory) }
                return folder
            }
            guard let email = SandboxTester.read(from: data.directory)?.email else {
                throw CommandError(.failed, "No sandbox tester in \(data.directory.path). Give --account or --device.")
            }
            return BuyCommand.deviceFolder(of: email, in: data.directory)
        }
    }
}
