import ConsolePages

extension Snippets {
    /// Programs that check a signed payload (JWS): the algorithm, a chain of three certificates with Apple's markers
    /// that ends in a known root, at the payload's own date, and the signature. They look up no revocation.
    /// - Parameters:
    ///   - isProduction: whether the payload is production's.
    ///   - bundle: the app's bundle identifier.
    ///   - app: the app's number, which production's payloads have.
    static func check(isProduction: Bool, bundle: String, app: Int64) -> [ConsoleCode] {
        [
            ConsoleCode("Command", "cornerstore receipt verify payload --root jws-root.der"),
            ConsoleCode(
                "Python",
                #"""
                # With Apple's own library: python3 -m venv .venv && .venv/bin/pip install app-store-server-library
                # Then run this file with .venv/bin/python3.
                from appstoreserverlibrary.models.Environment import Environment
                from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

                root = open("jws-root.der", "rb").read()
                verifier = SignedDataVerifier([root], False, Environment.\#(isProduction ? "PRODUCTION" : "SANDBOX"), "\#(bundle)", \#(app))
                print(verifier.verify_and_decode_signed_transaction(open("payload").read().strip()))
                """#),
            ConsoleCode(
                "Node",
                #"""
                const { X509Certificate, verify } = require("node:crypto"), { readFileSync } = require("node:fs");

                const [head, body, signature] = readFileSync("payload", "latin1").trim().split(".");
                const header = JSON.parse(Buffer.from(head, "base64url")), payload = JSON.parse(Buffer.from(body, "base64url"));
                const chain = header.x5c.map((der) => new X509Certificate(Buffer.from(der, "base64")));
                const [leaf, intermediate, root] = chain, date = payload.signedDate ?? payload.receiptCreationDate;
                const holds = (certificate, oid) => certificate.raw.includes(Buffer.from(oid, "hex"));
                const good = header.alg === "ES256" && chain.length === 3 && root.raw.equals(readFileSync("jws-root.der"))
                  && leaf.verify(intermediate.publicKey) && intermediate.verify(root.publicKey) && intermediate.ca
                  && chain.every((one) => Date.parse(one.validFrom) <= date && date <= Date.parse(one.validTo))
                  && holds(leaf, "060a2a864886f76364060b01") && holds(intermediate, "060a2a864886f76364060201")
                  && verify("sha256", Buffer.from(`${head}.${body}`), { key: leaf.publicKey, dsaEncoding: "ieee-p1363" },
                    Buffer.from(signature, "base64url"));
                if (!good) throw new Error("The payload is not the store's.");
                console.log(payload);
                """#),
            ConsoleCode(
                "Swift",
                #"""
                // A package that depends on the product StoreReceipts of cornerstore.
                import Foundation
                import StoreReceipts

                let root = try Data(contentsOf: URL(fileURLWithPath: "jws-root.der"))
                let text = try String(contentsOfFile: "payload", encoding: .utf8)
                let verifier = try ReceiptVerifier(roots: [Array(root)])
                let expectation = ReceiptExpectation(bundleID: "\#(bundle)")
                let payload = Array(text.trimmingCharacters(in: .whitespacesAndNewlines).utf8)
                let verified = try await verifier.verifySignedPayload(payload, expecting: expectation).get()
                print(String(decoding: verified.content.payload, as: UTF8.self))
                """#),
            ConsoleCode(
                "Go",
                #"""
                package main

                import ("bytes"; "crypto/ecdsa"; "crypto/sha256"; "crypto/x509"; "encoding/asn1"; "encoding/base64"; "encoding/json"; "fmt"; "math/big"; "os"; "strings"; "time")

                func must(good bool) { if !good { fmt.Fprintln(os.Stderr, "The payload is not the store's."); os.Exit(1) } }

                func holds(certificate *x509.Certificate, oid ...int) bool {
                    for _, one := range certificate.Extensions { if one.Id.Equal(asn1.ObjectIdentifier(oid)) { return true } }
                    return false
                }

                func main() {
                    text, _ := os.ReadFile("payload")
                    root, _ := os.ReadFile("jws-root.der")
                    parts := strings.Split(strings.TrimSpace(string(text)), ".")
                    must(len(parts) == 3)
                    var header struct { Alg string; X5c [][]byte }
                    var payload struct { SignedDate, ReceiptCreationDate int64 }
                    head, _ := base64.RawURLEncoding.DecodeString(parts[0])
                    body, _ := base64.RawURLEncoding.DecodeString(parts[1])
                    must(json.Unmarshal(head, &header) == nil && json.Unmarshal(body, &payload) == nil)
                    must(header.Alg == "ES256" && len(header.X5c) == 3 && bytes.Equal(header.X5c[2], root))
                    date := time.UnixMilli(payload.SignedDate)
                    if payload.SignedDate == 0 { date = time.UnixMilli(payload.ReceiptCreationDate) }
                    chain := make([]*x509.Certificate, 3)
                    for i, der := range header.X5c {
                        one, err := x509.ParseCertificate(der)
                        must(err == nil && !date.Before(one.NotBefore) && !date.After(one.NotAfter))
                        chain[i] = one
                    }
                    must(chain[0].CheckSignatureFrom(chain[1]) == nil && chain[1].CheckSignatureFrom(chain[2]) == nil)
                    must(holds(chain[0], 1, 2, 840, 113635, 100, 6, 11, 1) && holds(chain[1], 1, 2, 840, 113635, 100, 6, 2, 1))
                    signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
                    key, isEC := chain[0].PublicKey.(*ecdsa.PublicKey)
                    must(isEC && len(signature) == 64)
                    hash := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
                    must(ecdsa.Verify(key, hash[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])))
                    fmt.Println(string(body))
                }
                """#),
            ConsoleCode(
                "PHP",
                #"""
                <?php
                function decoded($text) { return base64_decode(strtr($text, "-_", "+/")); }

                [$head, $body, $signature] = explode(".", trim(file_get_contents("payload")));
                [$header, $payload] = [json_decode(decoded($head)), json_decode(decoded($body))];
                $pem = fn($der) => "-----BEGIN CERTIFICATE-----\n" . chunk_split($der, 64) . "-----END CERTIFICATE-----\n";
                [$leaf, $intermediate, $root] = $chain = array_map($pem, $header->x5c);
                $facts = array_map("openssl_x509_parse", $chain);
                $date = ($payload->signedDate ?? $payload->receiptCreationDate) / 1000;
                $number = function ($bytes) {
                    $bytes = ltrim($bytes, "\0");
                    if ($bytes === "" || ord($bytes[0]) > 127) $bytes = "\0$bytes";
                    return "\x02" . chr(strlen($bytes)) . $bytes;
                };
                $numbers = implode(array_map($number, str_split(decoded($signature), 32)));
                $good = $header->alg === "ES256" && count($chain) === 3 && base64_decode($header->x5c[2]) === file_get_contents("jws-root.der")
                    && openssl_x509_verify($leaf, $intermediate) === 1 && openssl_x509_verify($intermediate, $root) === 1
                    && str_contains($facts[1]["extensions"]["basicConstraints"] ?? "", "CA:TRUE")
                    && max(array_column($facts, "validFrom_time_t")) <= $date && $date <= min(array_column($facts, "validTo_time_t"))
                    && isset($facts[0]["extensions"]["1.2.840.113635.100.6.11.1"], $facts[1]["extensions"]["1.2.840.113635.100.6.2.1"])
                    && openssl_verify("$head.$body", "\x30" . chr(strlen($numbers)) . $numbers, $leaf, OPENSSL_ALGO_SHA256) === 1;
                if (!$good) { fwrite(STDERR, "The payload is not the store's.\n"); exit(1); }
                print_r($payload);
                """#),
            ConsoleCode(
                "Ruby",
                #"""
                require "base64"; require "json"; require "openssl"

                head, body, signature = File.read("payload").strip.split(".")
                header, payload = [head, body].map { |part| JSON.parse(Base64.urlsafe_decode64(part)) }
                chain = header["x5c"].map { |der| OpenSSL::X509::Certificate.new(Base64.strict_decode64(der)) }
                leaf, intermediate, root = chain
                date = Time.at((payload["signedDate"] || payload["receiptCreationDate"]) / 1000)
                numbers = Base64.urlsafe_decode64(signature).unpack("a32a32").map { |half| OpenSSL::ASN1::Integer(OpenSSL::BN.new(half, 2)) }
                marker = ->(certificate, oid) { certificate.extensions.any? { |one| one.oid == oid } }
                good = header["alg"] == "ES256" && chain.size == 3 && root.to_der == File.binread("jws-root.der") \
                  && leaf.verify(intermediate.public_key) && intermediate.verify(root.public_key) \
                  && intermediate.extensions.any? { |one| one.oid == "basicConstraints" && one.value.include?("CA:TRUE") } \
                  && chain.all? { |one| (one.not_before..one.not_after).cover?(date) } \
                  && marker.(leaf, "1.2.840.113635.100.6.11.1") && marker.(intermediate, "1.2.840.113635.100.6.2.1") \
                  && leaf.public_key.verify("SHA256", OpenSSL::ASN1::Sequence(numbers).to_der, "#{head}.#{body}")
                abort "The payload is not the store's." unless good
                puts payload
                """#),
            ConsoleCode(
                "Java",
                #"""
                import java.io.ByteArrayInputStream; import java.nio.file.*; import java.security.*; import java.security.cert.*; import java.util.*;
                import java.util.regex.Pattern;

                class Check {
                    static String find(String json, String pattern) {
                        var found = Pattern.compile(pattern).matcher(json);
                        return found.find() ? found.group(1) : "";
                    }

                    public static void main(String[] arguments) throws Exception {
                        var parts = Files.readString(Path.of("payload")).strip().split("\\.");
                        var header = new String(Base64.getUrlDecoder().decode(parts[0]));
                        var payload = new String(Base64.getUrlDecoder().decode(parts[1]));
                        var date = new Date(Long.parseLong(find(payload, "\"(?:signedDate|receiptCreationDate)\"\\s*:\\s*(\\d+)")));
                        var factory = CertificateFactory.getInstance("X.509");
                        var chain = new ArrayList<X509Certificate>();
                        for (var one : find(header, "\"x5c\"\\s*:\\s*\\[([^\\]]*)").replaceAll("[\\s\"\\\\]", "").split(",")) {
                            var der = new ByteArrayInputStream(Base64.getDecoder().decode(one));
                            chain.add((X509Certificate) factory.generateCertificate(der));
                            chain.get(chain.size() - 1).checkValidity(date);
                        }
                        X509Certificate leaf = chain.get(0), intermediate = chain.get(1), root = chain.get(2);
                        leaf.verify(intermediate.getPublicKey());
                        intermediate.verify(root.getPublicKey());
                        var signature = Signature.getInstance("SHA256withECDSAinP1363Format");
                        signature.initVerify(leaf.getPublicKey());
                        signature.update((parts[0] + "." + parts[1]).getBytes());
                        if (!find(header, "\"alg\"\\s*:\\s*\"([^\"]*)").equals("ES256") || chain.size() != 3
                            || !Arrays.equals(root.getEncoded(), Files.readAllBytes(Path.of("jws-root.der")))
                            || intermediate.getBasicConstraints() < 0
                            || leaf.getExtensionValue("1.2.840.113635.100.6.11.1") == null
                            || intermediate.getExtensionValue("1.2.840.113635.100.6.2.1") == null
                            || !signature.verify(Base64.getUrlDecoder().decode(parts[2])))
                            throw new SignatureException("The payload is not the store's.");
                        System.out.println(payload);
                    }
                }
                """#),
        ]
    }
}
