// Lengthens the timeouts of a program that a test starts with `withLongerTimeouts`.
import { lengthenTimeouts } from './longer-timeouts.ts'

// They hold until the program ends.
lengthenTimeouts({ teardown: () => undefined })
