// Lengthens the time limits of searches in a program that a test starts with `withLongerTimeouts`.
import { lengthenSearchTimeouts } from './longer-timeouts.ts'

// They hold until the program ends.
lengthenSearchTimeouts({ teardown: () => undefined })
