import Foundation

/// A bucket at Amazon S3 or another server that speaks S3, with the credentials to use it.
public struct S3Location: Sendable, CustomStringConvertible {
    /// The bucket's name.
    public var bucket: String
    /// The prefix of the objects' keys: empty, or a path that ends with `/`.
    public var prefix: String
    /// The server's scheme, host and port. Requests name the bucket in the path.
    public var endpoint: String
    /// The region that signatures name.
    public var region: String
    /// The access key's identifier.
    public var accessKeyID: String
    /// The access key. Secret.
    public var secretAccessKey: String
    /// The session token of temporary credentials. Secret.
    public var sessionToken: String?

    /// Reads `s3://BUCKET[/PREFIX][?endpoint=https://HOST[:PORT]][&region=REGION]`. The keys are separate parameters,
    /// because addresses are shown to people.
    /// - Throws: ``BlobError`` `invalidLocation`.
    public init(
        _ text: String, accessKeyID: String, secretAccessKey: String, sessionToken: String?
    ) throws {
        guard let url = URLComponents(string: text), url.scheme == "s3", let bucket = url.host, url.user == nil,
            bucket.wholeMatch(of: /[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/) != nil
        else {
            throw BlobError(
                .invalidLocation, "A bucket is written s3://BUCKET[/PREFIX][?endpoint=https://HOST&region=REGION].")
        }
        let options = url.queryItems ?? []
        if let unknown = options.first(where: { !["endpoint", "region"].contains($0.name) }) {
            throw BlobError(
                .invalidLocation, "“\(unknown.name)” is not an option of a bucket. The options are endpoint and region."
            )
        }
        guard !accessKeyID.isEmpty, !secretAccessKey.isEmpty else {
            throw BlobError(
                .invalidLocation,
                "The bucket needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment.")
        }
        func option(_ name: String) -> String? { options.first { $0.name == name }?.value }
        let region = option("region") ?? "us-east-1"
        guard region.wholeMatch(of: /[a-z0-9-]{1,32}/) != nil else {
            throw BlobError(.invalidLocation, "The region is invalid. Write it like us-east-1.")
        }
        let endpoint = option("endpoint") ?? "https://s3.\(region).amazonaws.com"
        guard let place = URLComponents(string: endpoint), ["http", "https"].contains(place.scheme ?? ""),
            place.host?.isEmpty == false, place.user == nil, place.query == nil, ["", "/"].contains(place.path)
        else { throw BlobError(.invalidLocation, "The endpoint is a URL such as https://s3.example.com:9000.") }
        let folder = url.path.split(separator: "/").joined(separator: "/")
        self.bucket = bucket
        prefix = folder.isEmpty ? "" : folder + "/"
        var server = endpoint.hasSuffix("/") ? endpoint.dropLast() : endpoint[...]
        // Clients leave the scheme's own port out of the header `Host`, which is signed.
        let usualPort = place.scheme == "https" ? ":443" : ":80"
        if server.hasSuffix(usualPort) { server = server.dropLast(usualPort.count) }
        self.endpoint = String(server)
        self.region = region
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
    }

    /// The bucket, prefix and endpoint, without the keys.
    public var description: String { "s3://\(bucket)/\(prefix) at \(endpoint)" }

    /// The header `Host` of requests.
    var host: String { String(endpoint.drop { $0 != ":" }.dropFirst(3)) }
}
