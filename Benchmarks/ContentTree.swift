import ContentPackages
import Foundation

/// Content as apps sell it: text, tables, and pictures and sound that cannot be compressed. Equal seeds give equal
/// content.
struct ContentTree {
    private var generator: Numbers
    private let text: [UInt8]
    private let root: URL

    /// SplitMix64.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    /// Creates the folder with its `ContentInfo.plist`.
    init(at root: URL, seed: UInt64 = 20_120_919) throws {
        self.root = root
        var generator = Numbers(state: seed)
        var words: [[UInt8]] = []
        for _ in 0..<4000 {
            words.append(
                (0..<Int.random(in: 2...10, using: &generator)).map { _ in UInt8.random(in: 97...122, using: &generator)
                })
        }
        var text: [UInt8] = []
        while text.count < 4 << 20 {
            // Few words are frequent, as in a language.
            let place = Double.random(in: 0..<1, using: &generator)
            text += words[Int(place * place * place * Double(words.count))] + [32]
        }
        self.text = text
        self.generator = generator
        try FileManager.default.createDirectory(at: root.appending(path: "Contents"), withIntermediateDirectories: true)
        guard let version = ContentVersion("1.0") else { throw BenchmarkError("1.0 is not a version") }
        try ContentInfo(productID: "com.example.bench", version: version).propertyList()
            .write(to: root.appending(path: ContentInfo.fileName))
    }

    /// Writes files of all kinds and sizes up to a number of bytes.
    /// - Returns: The number of files.
    mutating func fill(bytes: Int) throws -> Int {
        var written = 0
        var count = 0
        while written < bytes {
            // From 1 KiB to 16 MiB, most of them small.
            let size = min(bytes - written, 1 << Int.random(in: 10...24, using: &generator))
            try write(count, size: max(1, size))
            written += max(1, size)
            count += 1
        }
        return count
    }

    /// Writes a number of small files.
    mutating func fill(files: Int) throws {
        for index in 0..<files { try write(index, size: Int.random(in: 200...8000, using: &generator)) }
    }

    private mutating func write(_ index: Int, size: Int) throws {
        let folder = root.appending(path: "Contents/\(index / 100)")
        if index.isMultiple(of: 100) {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        let bytes =
            switch index % 5 {
            case 0, 1: noise(size)
            case 2: table(size)
            default: prose(size)
            }
        try bytes.write(to: folder.appending(path: "\(index)"))
    }

    private mutating func noise(_ size: Int) -> Data {
        var words = [UInt64](repeating: 0, count: size / 8 + 1)
        for index in words.indices { words[index] = generator.next() }
        return words.withUnsafeBytes { Data($0.prefix(size)) }
    }

    private mutating func prose(_ size: Int) -> Data {
        var data = Data(capacity: size)
        while data.count < size {
            let start = Int.random(in: 0..<(text.count - 65_536), using: &generator)
            data += text[start..<(start + min(65_536, size - data.count))]
        }
        return data
    }

    /// Numbers of 16 bits that change little from one to the next.
    private mutating func table(_ size: Int) -> Data {
        var last: UInt16 = 30_000
        var words = [UInt16](repeating: 0, count: size / 2 + 1)
        for index in words.indices {
            last = last &+ UInt16(generator.next() & 15) &- 7
            words[index] = last
        }
        return words.withUnsafeBytes { Data($0.prefix(size)) }
    }
}
