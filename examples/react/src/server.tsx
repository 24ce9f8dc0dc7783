// Renders the order on a server, which puts it into #root of index.html.
import { StrictMode } from 'react'
import { renderToString } from 'react-dom/server'
import { Order } from './order'

export const render = () =>
  renderToString(
    <StrictMode>
      <Order />
    </StrictMode>,
  )
