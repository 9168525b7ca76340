# Writes the tables of few_labels.py: what is known of plots, and which species live there.
suppressMessages({library(vegan); library(ade4)})
folder <- commandArgs(TRUE)[1]
dir.create(folder, showWarnings = FALSE)
write <- function(name, plots, species) {
  write.csv(plots, file.path(folder, paste0(name, "_x.csv")), row.names = FALSE)
  write.csv((as.data.frame(species) > 0) * 1, file.path(folder, paste0(name, "_y.csv")), row.names = FALSE)
}
parts <- list(aravo = c("env", "spe"), avimedi = c("plan", "fau"), aviurba = c("mil", "fau"), baran95 = c("plan", "fau"),
  jv73 = c("phychi", "poi"), mafragh = c("env", "flo"), mollusc = c("plan", "fau"),
  oribatid = c("envir", "fau"), pcw = c("env", "spe"), piosphere = c("env", "veg"), rpjdl = c("mil", "fau"),
  tarentaise = c("envir", "ecol"), trichometeo = c("meteo", "fau"), vegtf = c("xy", "veg"))
for (name in names(parts)) {
  data(list = name, package = "ade4")
  write(name, get(name)[[parts[[name]][1]]], get(name)[[parts[[name]][2]]])
}
data(mite, mite.env, mite.xy, BCI, BCI.env)
write("mite", cbind(mite.env, mite.xy), mite)
write("BCI", BCI.env, BCI)
