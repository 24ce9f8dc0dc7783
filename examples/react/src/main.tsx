// An order in React: the palette adds a line for each chosen product.
import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import 'trade-quoting-palette'
import type { Hit } from 'trade-quoting-palette'
import type {} from 'trade-quoting-palette/react'

type OrderLine = { hit: Hit; quantity: number }

function Order() {
  const [lines, setLines] = useState<OrderLine[]>([])
  return (
    <>
      <h1>Order</h1>
      <product-palette
        endpoint={import.meta.env.VITE_QUOTES_URL}
        api-key={import.meta.env.VITE_QUOTES_KEY}
        onproduct-select={({ detail }) => setLines((earlier) => addToOrder(earlier, detail.hit))}
      >
        <button type="button">Add a product (Ctrl+K)</button>
      </product-palette>
      <ul>
        {lines.map(({ hit, quantity }) => (
          <li key={hit.id}>
            {quantity} × {hit.name} {hit.price && `${hit.price.amount} ${hit.price.currency}`}
          </li>
        ))}
      </ul>
    </>
  )
}

function addToOrder(lines: OrderLine[], hit: Hit): OrderLine[] {
  const quantity = lines.find((line) => line.hit.id === hit.id)?.quantity ?? 0
  return [...lines.filter((line) => line.hit.id !== hit.id), { hit, quantity: quantity + 1 }]
}

const root = document.getElementById('root')
if (!root) throw new Error('The page has no #root.')
createRoot(root).render(
  <StrictMode>
    <Order />
  </StrictMode>,
)
