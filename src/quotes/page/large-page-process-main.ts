// The program of the child process that renders and compresses large quotes. In the main process,
// this would delay other requests.
import { QuoteFailure } from '../failures.ts'
import { performTasks } from '../rendering/rendering-child.ts'
import { maxPageOrJsonBytes } from '../rendering/rendering-limits.ts'
import {
  type EncodedContent,
  encodeAnySizeSync,
  type PageOptions,
  type PageOrJsonVariant,
  type QuoteToRender,
  renderPageOrJson,
} from './quote-page.ts'

export type LargePageTask = {
  quote: QuoteToRender
  variant: PageOrJsonVariant
  options: PageOptions
}

performTasks(({ quote, variant, options }: LargePageTask): EncodedContent => {
  const content = renderPageOrJson(quote, variant, options)
  if (content.length > maxPageOrJsonBytes)
    throw new QuoteFailure(
      'rendering_too_large',
      `The rendering has ${content.length} bytes, more than ${maxPageOrJsonBytes}.`,
    )
  return encodeAnySizeSync(content)
})
