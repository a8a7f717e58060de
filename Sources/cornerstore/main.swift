import CornerstoreCommands
import Foundation
import NIOCore
import NIOPosix

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "serve" || arguments.starts(with: ["merchant", "serve"]) {
    // A server's tasks run on the event loops that read and write its sockets. The hop to another thread and back cost
    // a fifth of verifyReceipt's rate. Server code must not block on these loops: databases and passwords use their own
    // threads. If the runtime does not support this (the call returns false), tasks run on the default executor. There
    // is one loop for each processor that this process may use.
    NIOSingletons.groupLoopCountSuggestion = UsableProcessors.count
    NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
}
exit(await Cornerstore.launch(arguments))
