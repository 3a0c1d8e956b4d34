/**
 * The conformance suite of communicators, and ranks that run in one thread. It imports no test runner, so that a program
 * under a launcher can run it.
 *
 * @packageDocumentation
 */
export { COMMUNICATOR_CASES, type CommunicatorUnderTest } from './communicator_conformance.js'
export { type LocalCommunicator, localCommunicators } from './local_communicators.js'
