// Lengthens the time limits of searches in a program that a test starts with `withLongerLimits`.
import { lengthenSearchLimits } from './longer-limits.ts'

// They hold until the program ends.
lengthenSearchLimits({ teardown: () => undefined })
