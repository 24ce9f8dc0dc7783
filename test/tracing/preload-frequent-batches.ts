// Makes a program that a test of traces starts send its spans soon.
import { timeouts } from '../../src/timeouts.ts'

timeouts.monitoring.spanBatch.ms = 500
