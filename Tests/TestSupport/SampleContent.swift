import Foundation

/// Packages of hosted content for tests.
public enum SampleContent {
    /// A package of one file.
    public static func package(_ product: String, _ version: String, text: String = "Once upon a time.") throws
        -> [UInt8]
    {
        Array("\(version)\n\(product)\n\(text)".utf8)
    }
}
