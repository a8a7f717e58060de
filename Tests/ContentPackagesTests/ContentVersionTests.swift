import ContentPackages
import Testing

@Suite("Versions of hosted content", .timeLimit(.minutes(1)))
struct ContentVersionTests {
    @Test(arguments: [
        ("1.9", "1.10"), ("1.0", "1.0.1"), ("1", "2"), ("0.9", "1"), ("1.2.3", "1.3"), ("1.0", "1.1"), ("09", "10"),
    ])
    func comparesNumberByNumber(lower: String, higher: String) throws {
        let (low, high) = (try #require(ContentVersion(lower)), try #require(ContentVersion(higher)))
        #expect(low < high)
        #expect(!(high < low))
        #expect(low != high)
    }

    @Test(arguments: [("1", "1.0"), ("1.0", "1.0.0"), ("0", "0.0"), ("01.2", "1.2")])
    func zerosAtTheEndSayNothing(left: String, right: String) throws {
        let (one, other) = (try #require(ContentVersion(left)), try #require(ContentVersion(right)))
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(!(one < other) && !(other < one))
        #expect(one.description == left)
    }

    @Test(arguments: [
        "", ".", "1.", ".1", "1..2", "a", "1.a", "-1", "+1", " 1", "1 ", "١", "1234567890", "1.2.3.4.5.6.7.8.9",
    ])
    func whatIsNoVersionIsRefused(text: String) { #expect(ContentVersion(text) == nil) }
}
