import ArgumentParser
import BlobStorage

extension S3Location {
    /// Creates the location from the value of `--blobs`; nil without a value.
    ///
    /// The bucket's keys come only from the environment variables that S3 clients use, because other users may see a
    /// command line or a file.
    /// - Throws: ``CommandError`` that names the option.
    init?(option text: String?, environment: [String: String]) throws {
        guard let text else { return nil }
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        do {
            try self.init(
                text, accessKeyID: variable("AWS_ACCESS_KEY_ID") ?? "",
                secretAccessKey: variable("AWS_SECRET_ACCESS_KEY") ?? "",
                sessionToken: variable("AWS_SESSION_TOKEN"))
        } catch let error as BlobError {
            throw CommandError(.usage, "blobs: \(error.detail)")
        }
    }
}

/// The option `--blobs` of the merchant's commands.
struct BlobsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The bucket of content, s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME], instead of a folder in the data directory.",
            valueName: "url"))
    var blobs: String?
}
