// Makes a program that a test of traces starts send its spans soon.
import { spanBatch } from '../../src/tracing/traces.ts'

spanBatch.ms = 500
