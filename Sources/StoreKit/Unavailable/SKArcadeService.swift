import Foundation

/// The subscriber check of Apple Arcade. Not available on Linux.
@available(*, unavailable, message: "there is no Apple Arcade here; leave the calls out on Linux")
public final class SKArcadeService: NSObject {}
