import ArgumentParser
import Foundation
import StoreKit
import StoreServer

/// `cornerstore device`: what the owner of a device allows on it.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Allow or forbid buying on a device, as parental controls do.",
        discussion: """
            canMakePayments() is false where it is forbidden, and payments fail with paymentNotAllowed; prices can be read. Running apps obey \
            from their next purchase on. The device is that of “cornerstore buy” unless --device names another, which an app made when it first \
            ran. Another account than the tester has one since it first bought or restored.

              cornerstore device payments off
              cornerstore device payments on --account anna@example.com
              cornerstore device payments off --device ~/.local/state/cornerstore/device
            """,
        subcommands: [Payments.self])

    struct Payments: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Allow or forbid buying.")
        @Argument(help: "Whether anybody may buy on the device.")
        var state: AccountCommand.Switch
        @Option(help: ArgumentHelp("Whose device; the sandbox tester's otherwise.", valueName: "email"))
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
                throw CommandError(.failed, "\(folder.path) cannot be written: \(error)")
            }
            let report = Report(device: folder.path, allowsPayments: state.isOn)
            try Console.current.report(report, json: output.json) { _ in
                "Buying is \(state.isOn ? "allowed" : "forbidden") on \(folder.path)."
            }
        }

        private func folder() throws -> URL {
            if let device { return try DevicePlace.existing(device) }
            // The tester is known to be there, with or without a device; whose address is misspelt gets none.
            if let account {
                let folder = BuyCommand.deviceFolder(of: account, in: data.directory)
                guard DevicePlace.isDevice(folder) else { throw DevicePlace.missing(of: account, in: data.directory) }
                return folder
            }
            guard let email = SandboxTester.read(from: data.directory)?.email else {
                throw CommandError(.failed, "There is no tester in \(data.directory.path); name --account or --device.")
            }
            return BuyCommand.deviceFolder(of: email, in: data.directory)
        }
    }
}
