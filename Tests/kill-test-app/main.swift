import Foundation
import KillTestApp

exit(
    await KillTestApp.run(
        arguments: Array(CommandLine.arguments.dropFirst()), environment: ProcessInfo.processInfo.environment))
