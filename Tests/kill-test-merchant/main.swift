import CornerstoreCommands
import Foundation
import KillTestApp
import Merchant
import MerchantServer
import NIOCore
import NIOPosix
import StoreServer

// `cornerstore` as it is, on the event loops too, but that it kills itself at a step (KILL_TEST_AT), and sends
// again soon what it was sending then.
NIOSingletons.groupLoopCountSuggestion = UsableProcessors.count
NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
let killer = Killer(
    ProcessInfo.processInfo.environment["KILL_TEST_AT"].flatMap(KillPoint.init(text:)), isTelling: false)
let change: @Sendable (inout MerchantServerConfiguration) -> Void = { configuration in
    configuration.onStep = { killer.pass($0.rawValue) }
    configuration.webhookLease = .milliseconds(500)
}
exit(
    await MerchantServing.$adjust.withValue(change) {
        await MerchantBackup.$onStep.withValue({ killer.pass($0.rawValue) }) {
            await StoreBackup.$onStep.withValue({ killer.pass($0.rawValue) }) {
                await Cornerstore.launch(Array(CommandLine.arguments.dropFirst()))
            }
        }
    })
