-- For wrk: each connection requests the next path of a file and then pauses, so that all
-- connections together send at a constant rate, whatever the responses.
-- wrk -s constant-rate-load.lua URL -- FILE MEAN_PAUSE_MS

local requests = {}
local position = 0
local longest = 0

function init(args)
  longest = 2 * tonumber(args[2])
  for path in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("GET", path)
  end
end

function request()
  position = position % #requests + 1
  return requests[position]
end

-- Random up to twice the mean: with equal pauses all connections would send at the same time.
function delay()
  return math.random(0, longest)
end
