// Shows the order in the browser, also if a server has rendered it.
import { StrictMode } from 'react'
import { createRoot, hydrateRoot } from 'react-dom/client'
import { Order } from './order'

const root = document.getElementById('root')
if (!root) throw new Error('The page has no #root.')
const page = (
  <StrictMode>
    <Order />
  </StrictMode>
)
if (root.firstElementChild) hydrateRoot(root, page)
else createRoot(root).render(page)
