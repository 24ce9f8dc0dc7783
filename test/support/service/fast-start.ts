// Settings for programs that tests start: they start faster, and many run on one machine.
const { NODE_COMPILE_CACHE = '', NODE_OPTIONS = '' } = process.env

/** For the environment of a program that a test starts. Port 0 is any free port. */
export const fastStart = { NODE_COMPILE_CACHE, NODE_OPTIONS, INDEXER_OPS_PORT: '0' }
