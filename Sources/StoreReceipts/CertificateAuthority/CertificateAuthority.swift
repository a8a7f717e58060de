import Foundation
import StoreWire
import X509

/// Cornerstore's own certificate authority, which takes the place of Apple's. It has a root, an intermediate and a leaf
/// per environment for receipts (RSA 2048), and the same for JWS (P-384, leaves P-256), with Apple's marker OIDs. All
/// names say TEST.
///
/// The authority is kept in a directory of its own (mode 0700, files 0600) or in another ``AuthorityStorage``, with one
/// PEM file per key and certificate. Leaves may be replaced; their signatures stay valid as long as the root's and the
/// intermediate's keys stay.
public struct CertificateAuthority: Sendable {
    /// The validity of every certificate, 2000-01-01 to 2200-01-01 (UTC), which is also the range to which the store's
    /// clock may be set.
    public static let validity: ClosedRange<Date> =
        Date(timeIntervalSince1970: 946_684_800)...Date(timeIntervalSince1970: 7_258_118_400)

    /// The most attempts to replace certificates while other processes replace them, too.
    private static let mostAttempts = 8

    private let storage: any AuthorityStorage
    /// The number of the state that this value has. It grows with each replacement of certificates.
    public let revision: Int64
    private let identities: [AuthorityMember: AuthorityIdentity]
    private let productionSigner: ReceiptSigner
    private let sandboxSigner: ReceiptSigner
    private let productionJWS: JWSIdentity
    private let sandboxJWS: JWSIdentity

    /// The root of the receipt chain, in DER.
    public let receiptRoot: [UInt8]
    /// The root of the JWS chain, in DER.
    public let jwsRoot: [UInt8]

    /// Reads the texts of a storage.
    private init(
        _ storage: any AuthorityStorage, _ found: (files: [String: String], revision: Int64)
    ) throws(ReceiptAuthorityError) {
        var identities: [AuthorityMember: AuthorityIdentity] = [:]
        for member in AuthorityMember.all {
            guard let text = found.files[member.fileName] else {
                throw ReceiptAuthorityError(
                    .incomplete, "the certificate authority lacks \(member.fileName); restore it from a copy")
            }
            identities[member] = try AuthorityIdentity(pem: text, kind: member.keyKind, file: member.fileName)
        }
        self.storage = storage
        self.identities = identities
        revision = found.revision
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
        do {
            return try await open(AuthorityFiles(directory: directory), at: date)
        } catch let error as ReceiptAuthorityError {
            throw error
        } catch {
            throw ReceiptAuthorityError(.storage, "the certificate authority cannot be opened: \(error)")
        }
    }

    /// Opens the authority in a storage, or makes one if the storage has none. When several processes begin at once,
    /// all use the authority of the one whose authority was kept first.
    ///
    /// - Parameters:
    ///   - earlier: a storage whose authority is taken over if `storage` has none, so that receipts of the past stay
    ///     valid.
    ///   - mayMake: whether an authority may be made; false for a store that has signed receipts.
    /// - Throws: ``ReceiptAuthorityError``: `missing` if there is none and none may be made, `incomplete`, `damaged` or
    ///   `exposedKey` if a storage holds anything but a complete authority, `differs` if both hold authorities with
    ///   different roots, `storage`, and `outsideValidity` if the authority cannot sign at `date`; the storage's own
    ///   errors.
    public static func open(
        _ storage: any AuthorityStorage, importing earlier: (any AuthorityStorage)? = nil, mayMake: Bool = true,
        at date: Date
    ) async throws -> CertificateAuthority {
        try checkValidity(date)
        var imported: CertificateAuthority?
        if let earlier, let found = try await earlier.load() { imported = try CertificateAuthority(earlier, found) }
        if let found = try await storage.load() {
            return try CertificateAuthority(storage, found).checked(against: imported)
        }
        let identities: [AuthorityMember: AuthorityIdentity]
        if let imported {
            identities = imported.identities
        } else {
            guard mayMake else { throw missing }
            identities = try await AuthorityMember.makeAll()
        }
        // False when another process was first. Nothing was signed with the new keys, so nobody misses them.
        _ = try await storage.create(try texts(identities))
        guard let found = try await storage.load() else { throw lost }
        return try CertificateAuthority(storage, found).checked(against: imported)
    }

    /// Reads the authority again, with the changes of other processes.
    /// - Throws: ``ReceiptAuthorityError``; the storage's own errors. This value is still good then.
    public func reloaded() async throws -> CertificateAuthority {
        guard let found = try await storage.load() else { throw Self.lost }
        return try CertificateAuthority(storage, found)
    }

    /// Replaces all leaves, in the storage and in the returned value. Receipts signed by the old leaves still verify.
    /// - Throws: ``ReceiptAuthorityError``: `outsideValidity`, `signing` if a key or certificate cannot be made,
    ///   `storage`; the storage's own errors. This value is still good then.
    public func rotatingLeaves(at date: Date) async throws -> CertificateAuthority {
        try Self.checkValidity(date)
        let leaves = AuthorityMember.all.filter { $0.profile.role == .leaf }
        return try await replacing { authority in
            try await AuthorityMember.make(leaves, knowing: authority.identities, ocspURL: authority.ocspURL)
                .filter { leaves.contains($0.key) }
        }
    }

    /// Issues the certificates of the JWS chain below its root again, with the same keys, if they do not name this
    /// address of an OCSP responder. Payloads that were signed before still verify.
    ///
    /// - Parameter url: the address, `http://` or `https://`, at most 200 printable ASCII characters.
    /// - Throws: ``ReceiptAuthorityError``: `signing` for another address, or if a certificate cannot be made;
    ///   `storage`; the storage's own errors. This value is still good then.
    public func reissuing(forOCSP url: String) async throws -> CertificateAuthority {
        guard url.hasPrefix("http://") || url.hasPrefix("https://"), url.utf8.count <= 200,
            url.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            throw ReceiptAuthorityError(
                .signing, "the OCSP responder's address must be an http or https URL of at most 200 ASCII characters")
        }
        return try await replacing { try $0.reissued(forOCSP: url) }
    }

    /// The certificates of the JWS chain that do not name an address, issued again with the same keys.
    private func reissued(
        forOCSP url: String
    ) throws(ReceiptAuthorityError) -> [AuthorityMember: AuthorityIdentity] {
        let outdated = AuthorityMember.checkedOnline.filter { identities[$0]?.certificate.ocspURL != url }
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
        return renewed.filter { outdated.contains($0.key) }
    }

    /// Replaces members in the storage. Begins again from its state when another process has changed that.
    /// - Parameter renew: makes the new members; none if nothing is to be replaced.
    private func replacing(
        _ renew: @Sendable (CertificateAuthority) async throws -> [AuthorityMember: AuthorityIdentity]
    ) async throws -> CertificateAuthority {
        var current = self
        for _ in 0..<Self.mostAttempts {
            let renewed = try await renew(current)
            guard !renewed.isEmpty else { return current }
            let isReplaced = try await storage.replace(try Self.texts(renewed), ifRevision: current.revision)
            current = try await reloaded()
            if isReplaced { return current }
        }
        throw ReceiptAuthorityError(
            .storage, "other processes keep changing the certificate authority; try again later")
    }

    private static func checkValidity(_ date: Date) throws(ReceiptAuthorityError) {
        guard validity.contains(date) else {
            throw ReceiptAuthorityError(.outsideValidity, "the clock must lie between the years 2000 and 2200")
        }
    }

    private func checked(against other: CertificateAuthority?) throws(ReceiptAuthorityError) -> CertificateAuthority {
        guard let other, (other.receiptRoot, other.jwsRoot) != (receiptRoot, jwsRoot) else { return self }
        throw ReceiptAuthorityError(
            .differs,
            "the data directory holds another certificate authority than the database; move its folder “authority” "
                + "away, or use the database that belongs to it")
    }

    private static let missing = ReceiptAuthorityError(
        .missing,
        "the store has sold before, but neither its database nor this data directory has its certificate authority; "
            + "start first the process with the old data directory, or copy its folder “authority” into this one")

    private static let lost = ReceiptAuthorityError(
        .storage, "the certificate authority cannot be found where it was kept; restore it from a copy")

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

    /// All certificates in DER by their names, such as `jws-root`, each issuer before those that it issues.
    public var certificates: [(name: String, der: [UInt8])] {
        AuthorityMember.all.compactMap { member in
            identities[member].map { (name: String(member.fileName.dropLast(".pem".count)), der: $0.der) }
        }
    }

    /// The address of the OCSP responder that the certificates of the JWS chain name; nil if they name none.
    public var ocspURL: String? { identities[.intermediate(.jws)]?.certificate.ocspURL }

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
