import ConsolePages

/// Programs in other languages with a store's addresses.
enum Snippets {
    /// The command that puts the app's shared secret in the environment, and programs that verify a receipt. They send
    /// no `password` without the variable.
    static func verify(_ url: String, bundle: String) -> [ConsoleCode] {
        [
            ConsoleCode(
                "The app's shared secret",
                "export CORNERSTORE_SHARED_SECRET=$(cornerstore app secret \(bundle.shellWord))"),
            ConsoleCode(
                "curl",
                """
                password="${CORNERSTORE_SHARED_SECRET:+,\\"password\\":\\"$CORNERSTORE_SHARED_SECRET\\"}"
                printf '{"receipt-data":"%s"%s}' "$(base64 -w0 receipt)" "$password" |
                  curl -sS -H 'Content-Type: application/json' -d @- '\(url)'
                """),
            ConsoleCode(
                "Python",
                """
                import base64, json, os, urllib.request

                body = {"receipt-data": base64.b64encode(open("receipt", "rb").read()).decode()}
                if secret := os.environ.get("CORNERSTORE_SHARED_SECRET"):
                    body["password"] = secret
                request = urllib.request.Request("\(url)", json.dumps(body).encode(), {"Content-Type": "application/json"})
                print(json.load(urllib.request.urlopen(request))["status"])
                """),
            ConsoleCode(
                "Node",
                """
                const data = require("node:fs").readFileSync("receipt").toString("base64");
                fetch("\(url)", { method: "POST", headers: { "Content-Type": "application/json" },
                  body: JSON.stringify({ "receipt-data": data, password: process.env.CORNERSTORE_SHARED_SECRET }) })
                  .then((answer) => answer.json()).then((answer) => console.log(answer.status));
                """),
            ConsoleCode(
                "Swift",
                """
                import Foundation
                #if canImport(FoundationNetworking)
                import FoundationNetworking
                #endif

                let data = try Data(contentsOf: URL(fileURLWithPath: "receipt")).base64EncodedString()
                var body = ["receipt-data": data]
                body["password"] = ProcessInfo.processInfo.environment["CORNERSTORE_SHARED_SECRET"]
                var request = URLRequest(url: URL(string: "\(url)")!)
                request.httpMethod = "POST"
                request.httpBody = try JSONSerialization.data(withJSONObject: body)
                let (answer, _) = try await URLSession.shared.data(for: request)
                print(String(decoding: answer, as: UTF8.self))
                """),
            ConsoleCode(
                "Go",
                """
                package main

                import ("bytes"; "encoding/base64"; "encoding/json"; "fmt"; "net/http"; "os")

                func main() {
                    data, _ := os.ReadFile("receipt")
                    members := map[string]string{"receipt-data": base64.StdEncoding.EncodeToString(data)}
                    if secret := os.Getenv("CORNERSTORE_SHARED_SECRET"); secret != "" { members["password"] = secret }
                    body, _ := json.Marshal(members)
                    answer, err := http.Post("\(url)", "application/json", bytes.NewReader(body))
                    if err != nil { panic(err) }
                    var result struct{ Status int }
                    json.NewDecoder(answer.Body).Decode(&result)
                    fmt.Println(result.Status)
                }
                """),
            ConsoleCode(
                "PHP",
                """
                <?php
                $body = json_encode(array_filter(["receipt-data" => base64_encode(file_get_contents("receipt")),
                  "password" => getenv("CORNERSTORE_SHARED_SECRET")]));
                $context = stream_context_create(["http" => ["method" => "POST", "header" => "Content-Type: application/json", "content" => $body]]);
                echo json_decode(file_get_contents("\(url)", false, $context))->status, "\\n";
                """),
            ConsoleCode(
                "Ruby",
                """
                require "base64"; require "json"; require "net/http"

                body = { "receipt-data" => Base64.strict_encode64(File.binread("receipt")),
                         "password" => ENV["CORNERSTORE_SHARED_SECRET"] }.compact.to_json
                puts JSON.parse(Net::HTTP.post(URI("\(url)"), body, "Content-Type" => "application/json").body)["status"]
                """),
            ConsoleCode(
                "Java",
                """
                import java.net.URI; import java.net.http.*; import java.nio.file.*; import java.util.Base64;

                class Verify {
                    public static void main(String[] arguments) throws Exception {
                        var data = Base64.getEncoder().encodeToString(Files.readAllBytes(Path.of("receipt")));
                        var secret = System.getenv("CORNERSTORE_SHARED_SECRET");
                        var password = secret == null ? "" : ",\\"password\\":\\"" + secret + "\\"";
                        var body = "{\\"receipt-data\\":\\"" + data + "\\"" + password + "}";
                        var request = HttpRequest.newBuilder(URI.create("\(url)")).header("Content-Type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString(body)).build();
                        System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
                    }
                }
                """),
        ]
    }

    /// The steps to take the merchant's webhooks on port 9000, and programs that do. They need no library.
    /// - Parameter hasStore: whether the merchant runs beside a store, and starts with it.
    static func webhook(hasStore: Bool) -> [ConsoleCode] {
        let server = hasStore ? "store" : "merchant"
        let start =
            hasStore
            ? ConsoleCode(
                "2. Start one of the receivers below; then the store, with its catalog files",
                "cornerstore serve App.storekit --webhook http://127.0.0.1:9000/")
            : ConsoleCode(
                "2. Start one of the receivers below; then the merchant, with its other options",
                "cornerstore merchant serve --webhook http://127.0.0.1:9000/")
        return [
            ConsoleCode(
                "1. Make a secret, in the shell that starts the receiver and the \(server)",
                "export CORNERSTORE_WEBHOOK_SECRET=$(cornerstore merchant webhooks secret)"),
            start,
            ConsoleCode(
                "3. Send a test event, also by the button on Notifications",
                "CORNERSTORE_MERCHANT_WEBHOOK=http://127.0.0.1:9000/ cornerstore merchant webhooks test"),
        ] + receivers
    }

    /// Programs that take webhooks.
    private static let receivers = [
        ConsoleCode(
            "Python",
            """
            import base64, hmac, os, time
            from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

            KEY = base64.b64decode(os.environ["CORNERSTORE_WEBHOOK_SECRET"].removeprefix("whsec_"))

            class Receiver(BaseHTTPRequestHandler):
                timeout = 15  # Seconds to wait for more of a request.

                def do_POST(self):
                    body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                    id, sent = self.headers["webhook-id"], self.headers.get("webhook-timestamp", "")
                    code = hmac.digest(KEY, f"{id}.{sent}.".encode() + body, "sha256")
                    right = b"v1," + base64.b64encode(code)
                    signatures = self.headers.get("webhook-signature", "").encode().split()
                    is_ours = any(hmac.compare_digest(one, right) for one in signatures)
                    if not (is_ours and sent.isdecimal() and abs(time.time() - int(sent)) < 300):
                        return self.send_error(401)
                    print(id, body.decode(), flush=True)  # Keep it under its id first: an event may come twice.
                    self.send_response(204)
                    self.end_headers()

            ThreadingHTTPServer(("127.0.0.1", 9000), Receiver).serve_forever()
            """),
        ConsoleCode(
            "Node",
            """
            const crypto = require("node:crypto"), http = require("node:http");
            const key = Buffer.from(process.env.CORNERSTORE_WEBHOOK_SECRET.replace("whsec_", ""), "base64");

            http.createServer((request, answer) => {
              const pieces = [];
              request.on("data", (piece) => pieces.push(piece)).on("end", () => {
                const { "webhook-id": id, "webhook-timestamp": sent, "webhook-signature": signatures = "" } = request.headers;
                const body = Buffer.concat(pieces);
                const code = crypto.createHmac("sha256", key).update(`${id}.${sent}.`).update(body).digest("base64");
                const right = Buffer.from("v1," + code);
                const isOurs = signatures.split(" ").map((one) => Buffer.from(one))
                  .some((one) => one.length === right.length && crypto.timingSafeEqual(one, right));
                if (!isOurs || !(Math.abs(Date.now() / 1000 - sent) < 300)) return answer.writeHead(401).end();
                console.log(id, body.toString());  // Keep it under its id first: an event may come twice.
                answer.writeHead(204).end();
              });
            }).listen(9000, "127.0.0.1");
            """),
        ConsoleCode(
            "Java",
            """
            import com.sun.net.httpserver.HttpServer;
            import java.net.InetSocketAddress;
            import java.nio.charset.StandardCharsets;
            import java.security.MessageDigest;
            import java.util.Base64;
            import java.util.concurrent.Executors;
            import javax.crypto.Mac;
            import javax.crypto.spec.SecretKeySpec;

            class Receiver {
                public static void main(String[] arguments) throws Exception {
                    var secret = System.getenv("CORNERSTORE_WEBHOOK_SECRET").replace("whsec_", "");
                    var key = new SecretKeySpec(Base64.getDecoder().decode(secret), "HmacSHA256");
                    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", 9000), 0);
                    server.setExecutor(Executors.newCachedThreadPool());
                    server.createContext("/", exchange -> {
                        var status = 401;
                        try (exchange) {
                            var fields = exchange.getRequestHeaders();
                            var body = exchange.getRequestBody().readAllBytes();
                            var id = fields.getFirst("webhook-id");
                            var sent = fields.getFirst("webhook-timestamp");
                            var signatures = fields.getFirst("webhook-signature");
                            var mac = Mac.getInstance("HmacSHA256");
                            mac.init(key);
                            mac.update((id + "." + sent + ".").getBytes(StandardCharsets.UTF_8));
                            var right = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes();
                            var date = sent != null && sent.matches("[0-9]{1,15}") ? Long.parseLong(sent) : 0;
                            if (signatures != null && Math.abs(System.currentTimeMillis() / 1000 - date) < 300)
                                for (var one : signatures.split(" "))
                                    if (MessageDigest.isEqual(one.getBytes(), right)) status = 204;
                            // Keep it under its id first: an event may come twice.
                            if (status == 204) System.out.println(id + " " + new String(body, StandardCharsets.UTF_8));
                            exchange.sendResponseHeaders(status, -1);
                        } catch (java.security.GeneralSecurityException error) {
                            throw new IllegalStateException(error);
                        }
                    });
                    server.start();
                }
            }
            """),
    ]

    /// Programs that ask the merchant.
    static func merchant(_ base: String) -> [ConsoleCode] {
        [
            ConsoleCode("Make an API key", "cornerstore merchant key make backend --scope users --scope ledger"),
            ConsoleCode("A user's balances", "curl -sS -H \"Authorization: Bearer $KEY\" '\(base)/admin/v1/users/ann'"),
            ConsoleCode(
                "Python",
                """
                import json, os, urllib.request

                request = urllib.request.Request("\(base)/admin/v1/users/ann", headers={"Authorization": "Bearer " + os.environ["KEY"]})
                print(json.load(urllib.request.urlopen(request)))
                """),
        ]
    }
}
