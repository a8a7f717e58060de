import CornerstoreCommands
import Foundation
import KillTestApp
import Merchant
import MerchantServer

// `cornerstore` as it is, but that it kills itself at a step of the merchant's (KILL_TEST_AT), and sends again soon what it was sending then.
let killer = Killer(
    ProcessInfo.processInfo.environment["KILL_TEST_AT"].flatMap(KillPoint.init(text:)), isTelling: false)
let change: @Sendable (inout MerchantServerConfiguration) -> Void = { configuration in
    configuration.onStep = { killer.pass($0.rawValue) }
    configuration.webhookLease = .milliseconds(500)
}
exit(
    await MerchantServing.$adjust.withValue(change) {
        await Cornerstore.launch(Array(CommandLine.arguments.dropFirst()))
    })
