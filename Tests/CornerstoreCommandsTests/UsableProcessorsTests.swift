import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct UsableProcessorsTests {
    @Test(arguments: [("0", 1), ("0-1", 2), ("0-2,7", 4), ("3,5,9-10", 4)])
    func theKernelsListIsCounted(list: String, count: Int) {
        #expect(UsableProcessors.count(inStatus: "Name:\tx\nCpus_allowed_list:\t\(list)\nMems_allowed:\t1\n") == count)
    }

    @Test(arguments: [
        "", "Name:\tx\n", "Cpus_allowed_list:\t\n", "Cpus_allowed_list:\t5-2\n", "Cpus_allowed_list:\tx\n",
    ])
    func whatIsNoListIsNotCounted(status: String) {
        #expect(UsableProcessors.count(inStatus: status) == nil)
    }

    @Test func thisProcessHasAProcessor() { #expect(UsableProcessors.count >= 1) }
}
