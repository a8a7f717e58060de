import Foundation
import StoreWire
import X509

/// Cornerstore's own certificate authority, which takes the place of Apple's. It has a root, an intermediate and a leaf
/// per environment for receipts (RSA 2048), and the same for JWS (P-384, leaves P-256), with Apple's marker OIDs. All
/// names say TEST.
///
/// The authority has a directory of its own (mode 0700, files 0600), with one PEM file per key and certificate. Leaves
/// may be replaced; their signatures stay valid as long as the root's and the intermediate's keys stay.
public struct CertificateAuthority: Sendable {
    /// The validity of every certificate, 2000-01-01 to 2200-01-01 (UTC), which is also the range to which the store's
    /// clock may be set.
    public static let validity: ClosedRange<Date> =
        Date(timeIntervalSince1970: 946_684_800)...Date(timeIntervalSince1970: 7_258_118_400)

    private let files: AuthorityFiles
    private let identities: [AuthorityMember: AuthorityIdentity]
    private let productionSigner: ReceiptSigner
    private let sandboxSigner: ReceiptSigner
    private let productionJWS: JWSIdentity
    private let sandboxJWS: JWSIdentity

    /// The root of the receipt chain, in DER.
    public let receiptRoot: [UInt8]
    /// The root of the JWS chain, in DER.
    public let jwsRoot: [UInt8]

    private init(
        _ files: AuthorityFiles, _ identities: [AuthorityMember: AuthorityIdentity]
    ) throws(ReceiptAuthorityError) {
        self.files = files
        self.identities = identities
        let receipts = try AuthorityHierarchy(.receipts, identities)
        let jws = try AuthorityHierarchy(.jws, identities)
        receiptRoot = receipts.root.der
        jwsRoot = jws.root.der
        productionSigner = try receipts.receiptSigner(.production)
        sandboxSigner = try receipts.receiptSigner(.sandbox)
        productionJWS = try jws.jwsIdentity(.production)
        sandboxJWS = try jws.jwsIdentity(.sandbox)
    }

    /// Opens the authority in `directory`, or makes one if the directory is absent or empty.
    ///
    /// - Throws: ``ReceiptAuthorityError``: `incomplete`, `damaged` or `exposedKey` if the directory holds anything but
    ///   a complete authority (keys are never replaced silently), `storage`, and `outsideValidity` if the authority
    ///   cannot sign at `date`.
    public static func open(directory: URL, at date: Date) async throws(ReceiptAuthorityError) -> CertificateAuthority {
        guard validity.contains(date) else {
            throw ReceiptAuthorityError(.outsideValidity, "the clock must lie between the years 2000 and 2200")
        }
        let files = AuthorityFiles(directory: directory.standardizedFileURL)
        let found = try files.contents() ?? []
        if found.isEmpty {
            let identities = try await AuthorityMember.makeAll()
            try files.create(try texts(identities))
            return try CertificateAuthority(files, identities)
        }
        let missing = AuthorityMember.all.map(\.fileName).filter { !found.contains($0) }
        guard missing.isEmpty else {
            throw ReceiptAuthorityError(
                .incomplete,
                "\(directory.path) is not a whole certificate authority: missing \(missing.joined(separator: ", ")); "
                    + "restore it from a copy, or move the directory away to begin with new keys"
            )
        }
        var identities: [AuthorityMember: AuthorityIdentity] = [:]
        for member in AuthorityMember.all {
            identities[member] = try AuthorityIdentity(
                pem: try files.read(member.fileName), kind: member.keyKind, file: member.fileName
            )
        }
        return try CertificateAuthority(files, identities)
    }

    /// Replaces all leaves, in the directory and in the returned value. Receipts signed by the old leaves still verify.
    public func rotateLeaves(at date: Date) async throws(ReceiptAuthorityError) -> CertificateAuthority {
        guard Self.validity.contains(date) else {
            throw ReceiptAuthorityError(.outsideValidity, "the clock must lie between the years 2000 and 2200")
        }
        let leaves = AuthorityMember.all.filter { $0.profile.role == .leaf }
        let renewed = try await AuthorityMember.make(
            leaves, knowing: identities, ocspURL: identities[.intermediate(.jws)]?.certificate.ocspURL)
        for (name, text) in try Self.texts(renewed.filter { leaves.contains($0.key) }) {
            try files.replace(name, with: text)
        }
        return try CertificateAuthority(files, renewed)
    }

    /// Issues the certificates of the JWS chain below its root again, with the same keys, if they do not name this
    /// address of an OCSP responder. Payloads that were signed before still verify.
    ///
    /// Each file is replaced as a whole. If the process ends between two, the next call replaces the rest: names and
    /// keys stay, so every mixture of old and new certificates is a chain.
    ///
    /// - Parameter url: the address, `http://` or `https://`, at most 200 printable ASCII characters.
    /// - Throws: ``ReceiptAuthorityError``: `signing` for another address, or if a certificate cannot be made;
    ///   `storage`, after which this value is still good.
    public func reissued(forOCSP url: String) throws(ReceiptAuthorityError) -> CertificateAuthority {
        guard url.hasPrefix("http://") || url.hasPrefix("https://"), url.utf8.count <= 200,
            url.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            throw ReceiptAuthorityError(
                .signing, "the OCSP responder's address must be an http or https URL of at most 200 ASCII characters")
        }
        let outdated = AuthorityMember.checkedOnline.filter { identities[$0]?.certificate.ocspURL != url }
        guard !outdated.isEmpty else { return self }
        var renewed = identities
        do {
            for member in outdated {
                guard let key = identities[member]?.key else { continue }
                renewed[member] = try member.profile.issue(
                    key: key, issuer: member.issuer.flatMap { renewed[$0] }, ocspURL: url)
            }
        } catch {
            throw ReceiptAuthorityError(.signing, "new certificates could not be made: \(error)")
        }
        for (name, text) in try Self.texts(renewed.filter { outdated.contains($0.key) }) {
            try files.replace(name, with: text)
        }
        return try CertificateAuthority(files, renewed)
    }

    private static func texts(
        _ identities: [AuthorityMember: AuthorityIdentity]
    ) throws(ReceiptAuthorityError) -> [String: String] {
        var texts: [String: String] = [:]
        for (member, identity) in identities {
            do {
                texts[member.fileName] = try identity.pem()
            } catch {
                throw ReceiptAuthorityError(.signing, "a new certificate could not be written as PEM")
            }
        }
        return texts
    }

    /// The members that issue certificates which are checked online: the root and the intermediate of the JWS chain.
    var jwsIssuers: [AuthorityIdentity] {
        [AuthorityMember.root(.jws), .intermediate(.jws)].compactMap { identities[$0] }
    }

    /// The signer of this environment's receipts.
    public func receiptSigner(for environment: StoreEnvironment) -> ReceiptSigner {
        switch environment {
        case .production: productionSigner
        case .sandbox: sandboxSigner
        }
    }

    /// The signer of this environment's JWS.
    public func jwsIdentity(for environment: StoreEnvironment) -> JWSIdentity {
        switch environment {
        case .production: productionJWS
        case .sandbox: sandboxJWS
        }
    }
}
