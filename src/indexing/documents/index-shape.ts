// Computes the shape of an index: a hash of its settings and of sample documents. An index with a
// different shape is rebuilt, because different code built its documents.
import { createHash } from 'node:crypto'
import { indexSettings } from '../settings/index-settings.ts'
import { createSampleDocuments } from './sample-documents.ts'

/** Returns the shape of an index built by this code. */
export function computeIndexShape(): string {
  return createHash('sha256')
    .update(JSON.stringify([indexSettings, createSampleDocuments()]))
    .digest('hex')
}
