import CornerstoreCommands
import Foundation
import NIOCore
import NIOPosix

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "serve" || arguments.starts(with: ["merchant", "serve"]) {
    // A server's tasks run on the event loops that read and write its sockets: the hop to another thread and back cost a fifth of
    // verifyReceipt's rate. Nothing in the server may block there: databases and passwords have threads of their own. Where the runtime does not
    // support it (it answers false) tasks run as everywhere. There are as many loops as processors that this process may use.
    NIOSingletons.groupLoopCountSuggestion = UsableProcessors.count
    NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
}
exit(await Cornerstore.launch(arguments))
