// Settings of the test run (scripts/test.ts) with which Node programs start faster.
const { NODE_COMPILE_CACHE = '', NODE_OPTIONS = '' } = process.env

/** For the environment of a program that a test starts. */
export const fastStart = { NODE_COMPILE_CACHE, NODE_OPTIONS }
