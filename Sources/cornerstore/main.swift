import CornerstoreCommands
import Foundation

exit(await Cornerstore.launch(Array(CommandLine.arguments.dropFirst())))
