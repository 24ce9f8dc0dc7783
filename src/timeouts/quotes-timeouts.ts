// The waiting times of quote pages and PDFs.
import type { WaitingTime } from './waiting-time.ts'

export const quotesTimeouts = {
  processorTimeOfRenderingProcess: {
    ms: 35_000,
    what: 'Processor time of a process that renders PDFs or large pages, since its start',
    why: 'One rendering may use at least 15 s of it. A PDF of 2,000 lines takes 1.4 s.',
    afterwards: 'The kernel ends it (RLIMIT_CPU). The failure of its rendering is remembered.',
  },
  processorTimeBeforeReplacement: {
    ms: 20_000,
    what: 'Processor time after which such a process is replaced, once it has rendered',
    why: 'The next rendering may need much of the 35 s. A start takes 0.5 s.',
    afterwards: 'The next rendering starts another process.',
  },
  elapsedTimeOfRendering: {
    ms: 300_000,
    what: 'A PDF or large page whose process gets hardly any processor time',
    why: 'Beside twenty busy processes on two cores it gets about a hundredth of a core.',
    afterwards: 'The process is killed and replaced. The next request renders again.',
  },
  stopRendering: {
    ms: 4_000,
    what: 'PDFs and large pages that are rendered when the process stops',
    why: 'Their requests still get an answer: their connections are closed a second later.',
    afterwards: '503 with a page that links to it. The rendering processes are killed.',
  },
  largePagePause: {
    ms: 250,
    what: 'The longest pause between two large pages that are rendered one after the other',
    why: 'A pause is five times as long as the page took. Other requests have most of the time.',
    afterwards: 'The next page is rendered.',
  },
  idlePdfProcess: {
    ms: 10_000,
    what: 'How long an idle PDF process keeps more than 400 MB',
    why: 'The next large PDF uses the memory again. Freeing it in between delays other requests.',
    afterwards: 'The process is killed. The next PDF starts another one.',
  },
  renderingWait: {
    ms: 10_000,
    what: 'A request for a PDF or large page, in the queue and for the rendering',
    why: 'Later a visitor wants to see that something happens.',
    afterwards: '503 with a page that links to it. The rendering goes on and is cached.',
  },
  pendingRetryAfter: {
    ms: 5_000,
    what: 'Retry-After of a PDF or large page that is being rendered',
    why: 'A request that comes earlier than the rendering waits for it.',
    afterwards: 'The visitor opens the document by the link of the page.',
  },
  firstFailurePause: {
    ms: 30_000,
    what: 'The time before a PDF or large page that failed once is rendered again',
    why: 'The cause may be short, such as a busy machine. Each attempt may cost seconds.',
    afterwards: 'The next request renders again. Each further failure doubles the pause.',
  },
  longestFailurePause: {
    ms: 3_600_000,
    what: 'The longest time before a failed PDF or large page is rendered again',
    why: 'A document that always fails costs each process one attempt an hour.',
    afterwards: 'The next request renders again.',
  },
  erasure: {
    ms: 3_600_000,
    what: 'The time after which the indexer looks again for documents of closed links to erase',
    why: 'Documents stay for more than a year, so an hour more does not matter.',
    afterwards: 'Documents of links that were closed long ago are erased.',
  },
  retryAfter: {
    ms: 5_000,
    what: 'Retry-After of a quote or PDF that is temporarily unavailable',
    why: 'Most connection failures end within a few seconds.',
    afterwards: 'The visitor or program tries again.',
  },
} satisfies Record<string, WaitingTime>
